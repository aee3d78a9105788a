import { isObject, type JsonObject, type JsonValue } from '../object.ts';

/** Fields of an internal type in order: name there, key in the API, what an absent one is, and the type of its parts. */
export type Shape = readonly (readonly [name: string, key: string, absent: JsonValue, parts?: Shape])[];

const named: Shape = [['Name', 'name', '']];

export const schemaShape: Shape = [
  ['PriorityLevelConfiguration', 'priorityLevelConfiguration', { Name: '' }, named],
  ['MatchingPrecedence', 'matchingPrecedence', 0],
  ['DistinguisherMethod', 'distinguisherMethod', null, [['Type', 'type', '']]],
  [
    'Rules',
    'rules',
    null,
    [
      [
        'Subjects',
        'subjects',
        null,
        [
          ['Kind', 'kind', ''],
          ['User', 'user', null, named],
          ['Group', 'group', null, named],
          [
            'ServiceAccount',
            'serviceAccount',
            null,
            [
              ['Namespace', 'namespace', ''],
              ['Name', 'name', ''],
            ],
          ],
        ],
      ],
      [
        'ResourceRules',
        'resourceRules',
        null,
        [
          ['Verbs', 'verbs', null],
          ['APIGroups', 'apiGroups', null],
          ['Resources', 'resources', null],
          ['ClusterScope', 'clusterScope', false],
          ['Namespaces', 'namespaces', null],
        ],
      ],
      [
        'NonResourceRules',
        'nonResourceRules',
        null,
        [
          ['Verbs', 'verbs', null],
          ['NonResourceURLs', 'nonResourceURLs', null],
        ],
      ],
    ],
  ],
];

export const priorityLevelShape: Shape = [
  ['Type', 'type', ''],
  [
    'Limited',
    'limited',
    null,
    [
      ['NominalConcurrencyShares', 'nominalConcurrencyShares', 0],
      [
        'LimitResponse',
        'limitResponse',
        { Type: '', Queuing: null },
        [
          ['Type', 'type', ''],
          [
            'Queuing',
            'queuing',
            null,
            [
              ['Queues', 'queues', 0],
              ['HandSize', 'handSize', 0],
              ['QueueLengthLimit', 'queueLengthLimit', 0],
            ],
          ],
        ],
      ],
      ['LendablePercent', 'lendablePercent', null],
      ['BorrowingLimitPercent', 'borrowingLimitPercent', null],
    ],
  ],
  [
    'Exempt',
    'exempt',
    null,
    [
      ['NominalConcurrencyShares', 'nominalConcurrencyShares', null],
      ['LendablePercent', 'lendablePercent', null],
    ],
  ],
];

/** An object as upstream shows its internal form: all fields of the type, absent ones as Go encodes them. */
export function shown(object: JsonObject, shape: Shape): JsonObject {
  const out: JsonObject = {};
  for (const [name, key, absent, parts] of shape) {
    const value = object[key] ?? absent;
    if (parts === undefined || object[key] === undefined) out[name] = value;
    else if (Array.isArray(value)) out[name] = value.map((item) => (isObject(item) ? shown(item, parts) : item));
    else out[name] = isObject(value) ? shown(value, parts) : value;
  }
  return out;
}

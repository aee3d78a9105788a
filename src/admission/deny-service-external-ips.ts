import { mapOf, texts } from '../api/fields.ts';
import { forbidden } from '../status/status.ts';
import { type Plugin, subjectOf } from './chain.ts';

/** Lets services have no external addresses that they did not have before. */
export const denyServiceExternalIPs: Plugin = {
  name: 'DenyServiceExternalIPs',
  resources: ['/services'],
  operations: ['CREATE', 'UPDATE'],
  validate: (attributes) => {
    const known = texts(mapOf(attributes.old?.spec).externalIPs);
    if (texts(mapOf(attributes.object?.spec).externalIPs).every((ip) => known.includes(ip))) return;
    throw forbidden(subjectOf(attributes), attributes.name, 'Use of external IPs is denied by admission control');
  },
};

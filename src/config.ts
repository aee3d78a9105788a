import * as v from 'valibot';
import { settingsSchema } from './admission/configuration.ts';
import { choiceFault } from './admission/order.ts';
import { auditWebhookSchema } from './audit/webhook.ts';
import { authenticationSchema } from './authn/configuration.ts';
import { authenticationFaults } from './authn/jwt/configuration.ts';
import { authorizationFaults, authorizationSchema } from './authz/configuration.ts';
import { shardsFault } from './keyspace/shards.ts';

/** A service account signing key: a private JWK and its key id; the first in the list signs, all verify. */
const signingKey = v.object({ kid: v.string(), privateJwk: v.record(v.string(), v.unknown()) });

/** The issuer of service account tokens where none is configured. */
export const SERVICE_ACCOUNT_ISSUER = 'https://kubernetes.default.svc';

const positive = v.pipe(v.number(), v.integer(), v.minValue(1));

const replicaIds = v.pipe(v.array(positive), v.minLength(1));

const shardsSchema = v.pipe(
  v.array(v.object({ name: v.string(), resources: v.array(v.string()), replicas: replicaIds })),
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? shardsFault(dataset.value) : undefined;
    if (fault !== undefined) addIssue({ message: fault });
  }),
);

const fields = v.object({
  tenant: v.object({
    /** Permanent id; part of every storage name. */
    uid: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/)),
    name: v.string(),
    /** Ids of the first replicas of shard `main`, for example [1, 2, 3]. */
    replicas: replicaIds,
    /** Shards beside `main`; they stay as they were made. */
    shards: v.optional(shardsSchema, []),
  }),
  /** PEM certificates that client certificates chain to. */
  clientCA: v.optional(v.string(), ''),
  /** PEM certificates that clients should trust for this server (published as kube-root-ca.crt). */
  serverCA: v.optional(v.string(), ''),
  /** Static token file: CSV lines `token,user,uid,"group1,group2"`. */
  staticTokens: v.optional(v.string(), ''),
  serviceAccountKeys: v.optional(v.array(signingKey), []),
  serviceAccountIssuer: v.optional(v.string(), SERVICE_ACCOUNT_ISSUER),
  serviceClusterIPRange: v.optional(v.string(), '10.0.0.0/24'),
  advertiseAddress: v.optional(v.string(), '127.0.0.1'),
  securePort: v.optional(v.number(), 6443),
  /** Which controller-manager loops run: the server's own are always on. */
  controlLoops: v.optional(v.union([v.picklist(['all', 'none']), v.array(v.string())]), 'all'),
  /** Requests served side by side in an isolate, together the seats of priority and fairness. */
  maxRequestsInflight: v.optional(positive, 400),
  maxMutatingRequestsInflight: v.optional(positive, 200),
  /** Text of the audit policy file (audit.k8s.io/v1 Policy); empty: nothing is audited. */
  auditPolicy: v.optional(v.string(), ''),
  /** Whether audit events are logged, a JSON line each. */
  auditLog: v.optional(v.boolean(), true),
  /** A webhook that audit events go to. */
  auditWebhook: v.exactOptional(auditWebhookSchema),
  /** Where Services are reached that webhooks name, by `namespace/name` or `namespace/name:port`: `host:port`. */
  serviceRoutes: v.optional(v.record(v.string(), v.string()), {}),
  /** How long events are kept. */
  eventTTLSeconds: v.optional(positive, 3600),
  /** How long a shard keeps history for watches to resume and pages to stay consistent. */
  compactionIntervalSeconds: v.optional(positive, 300),
  /** Admission plugins to turn on and off, by upstream's names. */
  admissionPlugins: v.optional(
    v.pipe(
      v.object({ enable: v.optional(v.array(v.string()), []), disable: v.optional(v.array(v.string()), []) }),
      v.check(
        (choice) => choiceFault(choice) === undefined,
        (issue) => choiceFault(issue.input) ?? '',
      ),
    ),
    { enable: [], disable: [] },
  ),
  /** Configuration of single admission plugins, by name, in upstream's formats. */
  admission: v.optional(settingsSchema, {}),
  /** How kubelets are known and called. */
  kubelet: v.optional(
    v.object({
      /** PEM certificates that theirs must chain to; empty: any certificate is taken. */
      authority: v.optional(v.string(), ''),
      /** PEM certificate and key to show to them. */
      identity: v.exactOptional(v.object({ certificate: v.string(), key: v.string() })),
      /** Kinds of node addresses, the preferred first. */
      addressTypes: v.exactOptional(v.array(v.string())),
    }),
    {},
  ),
  /** The authority that signs requests for certificates of clients and kubelets: PEM, the key in PKCS #8. */
  clusterSigning: v.exactOptional(
    v.object({ certificate: v.string(), key: v.string(), durationSeconds: v.optional(positive, 365 * 24 * 3600) }),
  ),
  /** PEM certificates by which aggregated API servers know this one, where there is no other front proxy. */
  frontProxyCA: v.optional(v.string(), ''),
  /** PEM certificate and key by which aggregated API servers know this one, and believe it who a request's user is. */
  proxyClient: v.exactOptional(v.object({ certificate: v.string(), key: v.string() })),
  /** Ways in besides certificates, the token file and the cluster's own tokens. */
  authentication: v.optional(authenticationSchema, {}),
  /** Who decides what users may do, in order. */
  authorization: v.optional(authorizationSchema, {}),
});

const schema = v.pipe(
  fields,
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { authentication, authorization, serviceAccountIssuer } = dataset.value;
    const { jwt, anonymous } = authentication;
    for (const fault of authenticationFaults(jwt, anonymous, serviceAccountIssuer))
      addIssue({ message: `authentication.${fault}` });
    for (const fault of authorizationFaults(authorization.authorizers)) addIssue({ message: `authorization.${fault}` });
  }),
);

export type Config = v.InferOutput<typeof schema>;

/** Reads the `GUNWALE_CONFIG` binding. Throws with the path and the reason of the first fault. */
export function parseConfig(text: string): Config {
  const result = v.safeParse(schema, JSON.parse(text));
  if (result.success) return result.output;
  const issue = result.issues[0];
  const path = v.getDotPath(issue);
  throw new Error(`configuration: ${path === null ? '' : `${path}: `}${issue.message}`);
}

/** Bindings of the Worker and of the replica processes; which of them exist depends on the process layout. */
export interface Bindings {
  GUNWALE_CONFIG: string;
  /** Places whose replicas this process owns, as JSON list; absent: all of them (one process, or production). */
  GUNWALE_OWN_REPLICAS?: string;
  /** Takes audit events, a line each; absent: they go to the Worker's log. */
  AUDIT_LOG?: Fetcher;
  /** The egress service, which calls peers against private authorities: by binding (`npm start`, Workers VPC) … */
  EGRESS?: Fetcher;
  /** … or by URL (a tunnel); and its key, where the runtime does not put that on. */
  EGRESS_URL?: string;
  EGRESS_KEY?: string;
  /** Number of places among which the replicas' ids are spread, see `slotOf`; absent: there are none. */
  GUNWALE_REPLICA_SLOTS?: string;
  /** Durable Object namespace of the replicas, where they live in this process. */
  REPLICA?: DurableObjectNamespace;
  /** Durable Object namespace of the control loops, in the API process. */
  LOOPS?: DurableObjectNamespace;
  /** In a replica process: the service that leads to the API process's control loops. */
  LOOPS_GATEWAY?: Fetcher;
  /** Services that lead to the gateway of the process owning place N: `REPLICA_PROCESS_1` … */
  [replicaProcess: `REPLICA_PROCESS_${number}`]: Fetcher | undefined;
}

import { condition, int, mapOf, objects, text, texts } from '../../src/api/fields.ts';
import type { JsonObject, KubeObject } from '../../src/api/object.ts';
import { formatTime } from '../../src/api/time.ts';
import { removalOf } from '../../src/certificates/deadlines.ts';
import { commonName, KUBELET_CLIENT_SIGNER, parseRequest, signers } from '../../src/certificates/requests.ts';
import { SigningError, signRequest } from '../../src/certificates/sign.ts';
import { ApiClient, isConflict, type LoopConnection, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
/** A request that nobody may make today is looked at again: access may be granted meanwhile. */
const UNAUTHORIZED_MS = 60_000;

/** The permission by which a kubelet's request is approved, and what its approval says. */
const APPROVALS = [
  {
    subresource: 'selfnodeclient',
    message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
  },
  { subresource: 'nodeclient', message: 'Auto approving kubelet client certificate after SubjectAccessReview.' },
] as const;

/**
 * The controllers of certificate signing requests: approves those of kubelets that may make them, signs those that are
 * approved for a signer of the cluster's authority, and removes old ones.
 */
export class CertificateRequests {
  readonly #connection: LoopConnection;
  readonly #api: ApiClient;

  constructor(connection: LoopConnection) {
    this.#connection = connection;
    this.#api = new ApiClient(connection);
  }

  async handle(name: string): Promise<Outcome> {
    const path = `${PATH}/${encodeURIComponent(name)}`;
    const request = await unlessMissing(this.#api.get(path));
    if (request === undefined) return 'done';
    const now = this.#connection.now().getTime();
    const removal = removalOf(request);
    if (removal <= now) {
      await unlessMissing(this.#api.delete(path, { preconditions: { uid: request.metadata.uid ?? '' } }));
      return 'done';
    }
    try {
      const isWaiting = await this.#advance(path, request);
      const pause = Math.min(removal - now, isWaiting ? UNAUTHORIZED_MS : Number.POSITIVE_INFINITY);
      return Number.isFinite(pause) ? { again: pause } : 'done';
    } catch (error) {
      if (isConflict(error)) return 'later';
      throw error;
    }
  }

  /** Does what a request waits for; whether it still waits for somebody's permission. */
  async #advance(path: string, request: KubeObject): Promise<boolean> {
    const { conditions, certificate } = mapOf(request.status);
    const is = (type: string) => condition(conditions, type)?.status === 'True';
    if (text(certificate) !== '' || is('Denied') || is('Failed')) return false;
    if (!is('Approved')) return this.#approve(path, request);
    await this.#sign(path, request);
    return false;
  }

  async #approve(path: string, request: KubeObject): Promise<boolean> {
    const spec = mapOf(request.spec);
    if (spec.signerName !== KUBELET_CLIENT_SIGNER) return false;
    const parsed = parseRequest(text(spec.request));
    if (signers.get(KUBELET_CLIENT_SIGNER)?.(parsed, texts(spec.usages)) !== undefined) return false;
    const isOwn = spec.username === commonName(parsed);
    for (const { subresource, message } of APPROVALS) {
      if (subresource === 'selfnodeclient' && !isOwn) continue;
      if (!(await this.#mayCreate(spec, subresource))) continue;
      await this.#addCondition(`${path}/approval`, request, { type: 'Approved', reason: 'AutoApproved', message });
      return false;
    }
    return true;
  }

  async #mayCreate(spec: JsonObject, subresource: string): Promise<boolean> {
    const { username, uid, groups, extra } = spec;
    const resource = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests', version: '*' };
    const review = await this.#api.create(REVIEWS, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: username ?? '',
        ...(uid && { uid }),
        ...(groups && { groups }),
        ...(extra && { extra }),
        resourceAttributes: { ...resource, verb: 'create', subresource },
      },
    });
    return mapOf(review.status).allowed === true;
  }

  async #sign(path: string, request: KubeObject): Promise<void> {
    const authority = this.#connection.config.clusterSigning;
    const { signerName, usages, expirationSeconds, request: encoded } = mapOf(request.spec);
    const faultOf = signers.get(text(signerName));
    if (faultOf === undefined || authority === undefined) return;
    const parsed = parseRequest(text(encoded));
    const message = faultOf(parsed, texts(usages));
    if (message !== undefined) {
      const failed = { type: 'Failed', reason: 'SignerValidationFailure', message };
      await this.#addCondition(`${path}/status`, request, failed);
      return;
    }
    const lifetime = int(expirationSeconds) || undefined;
    try {
      const pem = await signRequest(parsed, texts(usages), lifetime, authority, this.#connection.now());
      await this.#api.update(`${path}/status`, {
        ...request,
        status: { ...mapOf(request.status), certificate: btoa(pem) },
      });
    } catch (error) {
      if (!(error instanceof SigningError)) throw error;
      console.error(`certificate signing request ${request.metadata.name}: ${error.message}`);
    }
  }

  async #addCondition(path: string, request: KubeObject, added: JsonObject): Promise<void> {
    const status = mapOf(request.status);
    const lastUpdateTime = formatTime(this.#connection.now());
    const conditions = [...objects(status.conditions), { status: 'True', lastUpdateTime, ...added }];
    await this.#api.update(path, { ...request, status: { ...status, conditions } });
  }
}

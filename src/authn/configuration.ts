import * as v from 'valibot';
import { connectionSchema } from '../outbound/connection.ts';
import { jwtAndAnonymous, SIGNING_ALGORITHMS } from './jwt/configuration.ts';

const names = v.optional(v.array(v.pipe(v.string(), v.trim(), v.minLength(1))), []);

/** The front proxy: whose certificates are believed, and in which headers it says who the user is. */
const requestHeader = v.object({
  /** PEM certificates of its authority. */
  clientCA: v.pipe(v.string(), v.minLength(1)),
  /** Common names that it may have; empty: any. */
  allowedNames: names,
  usernameHeaders: names,
  uidHeaders: names,
  groupHeaders: names,
  extraHeaderPrefixes: names,
});

/** A webhook that knows tokens, asked by TokenReview. */
const tokenWebhook = v.object({
  version: v.picklist(['v1', 'v1beta1']),
  /** How long its answers are remembered; 0: not at all. */
  cacheMilliseconds: v.optional(v.pipe(v.number(), v.minValue(0)), 120_000),
  connection: connectionSchema,
});

/** The ways in besides certificates, the token file and the cluster's own tokens. */
export const authenticationSchema = v.object({
  ...jwtAndAnonymous,
  /** Algorithms of OpenID tokens; empty: all. */
  signingAlgorithms: v.optional(v.array(v.picklist(SIGNING_ALGORITHMS)), []),
  requestHeader: v.exactOptional(requestHeader),
  tokenWebhook: v.exactOptional(tokenWebhook),
});

import type { JsonObject, JsonValue } from '../../api/object.ts';
import { Fault, type Value } from '../../cel/values.ts';
import type { UserInfo } from '../../request/context.ts';
import { TokenFault } from '../token.ts';
import type { JwtConfiguration } from './configuration.ts';
import {
  type ClaimExpression,
  compileClaims,
  compileUser,
  evaluateClaims,
  evaluateUser,
  textsOf,
} from './expressions.ts';

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** The expressions of one issuer, compiled; undefined where there is none. */
interface Compiled {
  username: ClaimExpression | undefined;
  groups: ClaimExpression | undefined;
  uid: ClaimExpression | undefined;
  extra: { key: string; expression: ClaimExpression }[];
  claimRules: { expression: ClaimExpression; message: string }[];
  userRules: { expression: ClaimExpression; message: string }[];
}

const optional = (source: string) => (source === '' ? undefined : compileClaims(source));

function compileAll({ claimMappings, claimValidationRules, userValidationRules }: JwtConfiguration): Compiled {
  return {
    username: optional(claimMappings.username.expression),
    groups: optional(claimMappings.groups.expression),
    uid: optional(claimMappings.uid.expression),
    extra: claimMappings.extra.map(({ key, valueExpression }) => ({ key, expression: compileClaims(valueExpression) })),
    claimRules: claimValidationRules
      .filter(({ expression }) => expression !== '')
      .map(({ expression, message }) => ({ expression: compileClaims(expression, true), message })),
    userRules: userValidationRules.map(({ expression, message }) => ({ expression: compileUser(expression), message })),
  };
}

/** Runs an evaluation; its faults become the token's. */
function during<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new TokenFault(`oidc: error evaluating ${what}: ${error.message}`);
  }
}

const kindOf = (value: JsonValue) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

function wrongType(claim: string, what: string, value: JsonValue): TokenFault {
  return new TokenFault(`oidc: parse ${what} ${JSON.stringify(claim)}: it is of type ${kindOf(value)}`);
}

/** Makes the user of verified claims, as one issuer's configuration says (KEP-3331). */
export class ClaimsMapper {
  readonly #config: JwtConfiguration;
  readonly #compiled: Compiled;

  /** Throws TypeError where an expression does not compile. */
  constructor(config: JwtConfiguration) {
    this.#config = config;
    this.#compiled = compileAll(config);
  }

  /** Throws TokenFault where the claims make no user, or one that a rule refuses. */
  userOf(claims: JsonObject): UserInfo {
    const uid = this.#uid(claims);
    const user: UserInfo = {
      name: this.#name(claims),
      groups: this.#groups(claims),
      ...(uid === '' ? {} : { uid }),
      extra: this.#extra(claims),
    };
    this.#require(claims);
    const { claimRules, userRules } = this.#compiled;
    check('claim validation expression', claimRules, (expression) => evaluateClaims(expression, claims));
    check('user info validation rule', userRules, (expression) => evaluateUser(expression, user));
    return user;
  }

  #name(claims: JsonObject): string {
    const { claim, prefix } = this.#config.claimMappings.username;
    const { username } = this.#compiled;
    if (username !== undefined) {
      const what = 'username claim expression';
      const name = during(what, () => evaluateClaims(username, claims));
      if (typeof name !== 'string') throw new TokenFault(`oidc: error evaluating ${what}: it must return a string`);
      if (name === '') throw new TokenFault('oidc: empty username via CEL expression is not allowed');
      return name;
    }
    if (!Object.hasOwn(claims, claim))
      throw new TokenFault(`oidc: parse username claims ${JSON.stringify(claim)}: claim not present`);
    const name = claims[claim]!;
    if (typeof name !== 'string') throw wrongType(claim, 'username claims', name);
    if (claim === 'email' && Object.hasOwn(claims, 'email_verified') && claims.email_verified !== true)
      throw new TokenFault('oidc: email not verified');
    return `${prefix ?? ''}${name}`;
  }

  #groups(claims: JsonObject): string[] {
    const { claim, prefix } = this.#config.claimMappings.groups;
    const { groups } = this.#compiled;
    if (groups !== undefined) return during('group claim expression', () => textsOf(evaluateClaims(groups, claims)));
    if (claim === '' || !Object.hasOwn(claims, claim)) return [];
    const value = claims[claim]!;
    const list = Array.isArray(value) ? value : value === null ? [] : [value];
    return list.map((group) => {
      if (typeof group !== 'string') throw wrongType(claim, 'groups claim', value);
      return `${prefix ?? ''}${group}`;
    });
  }

  #uid(claims: JsonObject): string {
    const { claim } = this.#config.claimMappings.uid;
    const { uid } = this.#compiled;
    let value: Value | JsonValue = '';
    if (uid !== undefined) value = during('uid claim expression', () => evaluateClaims(uid, claims));
    else if (claim !== '') {
      if (!Object.hasOwn(claims, claim))
        throw new TokenFault(`oidc: parse uid claim ${JSON.stringify(claim)}: claim not present`);
      value = claims[claim]!;
    }
    if (typeof value === 'string') return value;
    throw new TokenFault('oidc: the uid must be a string');
  }

  #extra(claims: JsonObject): Record<string, string[]> {
    const extra: Record<string, string[]> = {};
    if (typeof claims.jti === 'string' && claims.jti !== '') extra[CREDENTIAL_ID] = [`JTI=${claims.jti}`];
    for (const { key, expression } of this.#compiled.extra) {
      const values = during('extra claim expression', () => textsOf(evaluateClaims(expression, claims)));
      if (values.length > 0) extra[key] = values;
    }
    return extra;
  }

  #require(claims: JsonObject): void {
    for (const { claim, requiredValue } of this.#config.claimValidationRules) {
      if (claim === '') continue;
      if (!Object.hasOwn(claims, claim)) throw new TokenFault(`oidc: required claim ${claim} not present in ID token`);
      const value = claims[claim];
      if (value !== requiredValue)
        throw new TokenFault(
          `oidc: required claim ${claim} value does not match. Got = ${String(value)}, want = ${requiredValue}`,
        );
    }
  }
}

function check(what: string, rules: Compiled['claimRules'], evaluate: (expression: ClaimExpression) => Value): void {
  for (const { expression, message } of rules) {
    if (during(what, () => evaluate(expression)) === true) continue;
    throw new TokenFault(
      `oidc: error evaluating ${what}: validation expression '${expression.source}' failed: ${message}`,
    );
  }
}

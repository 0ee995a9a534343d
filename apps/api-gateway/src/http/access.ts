import type { AccountType, Scope } from '@market/contracts';
import { getOwnedAgent } from '@market/contracts/identity';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBearerAuth, ApiCookieAuth, ApiQuery, ApiSecurity } from '@nestjs/swagger';
import { ApiAccess } from '../openapi/access-extension.js';
import { ApiRefusals } from '../openapi/refusal-responses.js';
import { edgeRefusals, sessionMissing } from './edge-refusals.js';
import { callsSellers, type RouteRules } from './route-rules.js';

type MoreRules = Omit<RouteRules, 'access' | 'accounts' | 'recognizes'>;

const ANYONE: readonly AccountType[] = ['agent', 'human'];

const declare = (rules: RouteRules): MethodDecorator =>
  applyDecorators(
    RouteConfig({ rules }),
    ApiAccess(rules),
    ...(rules.rate === 'none'
      ? []
      : [
          ApiRefusals({
            rate_limited: edgeRefusals.rate_limited,
            ...(rules.rate === 'calls' ? { too_many_in_flight: edgeRefusals.too_many_in_flight } : {}),
          }),
        ]),
    ...(callsSellers(rules) ? [ApiRefusals({ call_loops: edgeRefusals.call_loops })] : []),
    ...(rules.owners ? [ApiOwners()] : []),
  );

/** Documents that the session of an agent's owner is accepted, too. */
function ApiOwners(): MethodDecorator {
  const { request_invalid, unauthorized, wrong_account_type, agent_id_of_another, cross_site_write } = edgeRefusals;
  return applyDecorators(
    ApiBearerAuth('session'),
    ApiCookieAuth('session_cookie'),
    ApiQuery({
      name: 'agent_id',
      required: false,
      schema: { type: 'string', format: 'uuid' },
      description:
        'With a session: the agent to act for, which its human has claimed. With a key: its own agent, if any.',
    }),
    ApiRefusals({ request_invalid, unauthorized, wrong_account_type, agent_id_of_another, cross_site_write }),
    ApiRefusals(getOwnedAgent.refusals),
  );
}

/** The route requires no credential. It reads none unless it `recognizes` callers. */
export const Public = (rules: Omit<RouteRules, 'access' | 'accounts'> = {}): MethodDecorator =>
  applyDecorators(declare({ access: 'public', accounts: ANYONE, ...rules }), ApiSecurity({}));

/**
 * A key is optional: a valid one shows more, and any other credential is ignored. A request with `agent_id` requires an
 * owner's session or a key.
 */
export const OptionalKey = (rules: MoreRules = {}): MethodDecorator =>
  applyDecorators(
    declare({ access: 'optional-key', accounts: ANYONE, ...rules }),
    ApiSecurity({}),
    ApiBearerAuth('api_key'),
  );

/** The route requires any valid credential of these account types, with any scopes. */
export const AnyCredential = (accounts: readonly AccountType[], rules: MoreRules = {}): MethodDecorator =>
  applyDecorators(
    declare({ access: 'any-credential', accounts, ...rules }),
    ...accounts.map(documentCredentialOf),
    ApiRefusals({
      unauthorized: accounts.includes('agent') ? edgeRefusals.unauthorized : sessionMissing,
      ...refusalsOf(accounts),
    }),
  );

/** The route requires the session of a human who is an operator. */
export const OperatorsOnly = (): MethodDecorator => {
  const { operator_required } = edgeRefusals;
  return applyDecorators(AnyCredential(['human'], { operators: true }), ApiRefusals({ operator_required }));
};

/** The route requires an agent's key with this scope, or its owner's session if the rules allow it. */
export const RequireScope = (scope: Scope, rules: MoreRules = {}): MethodDecorator => {
  const { unauthorized, wrong_account_type, scope_missing } = edgeRefusals;
  return applyDecorators(
    declare({ access: scope, accounts: ['agent'], ...rules }),
    ApiKeyAuth(),
    ApiRefusals({ unauthorized, wrong_account_type, scope_missing }),
  );
};

/** A key comes in one of two headers, so that Authorization can carry a payment. */
const ApiKeyAuth = (): MethodDecorator => applyDecorators(ApiBearerAuth('api_key'), ApiSecurity('api_key_header'));

const documentCredentialOf = (account: AccountType): MethodDecorator =>
  account === 'agent' ? ApiKeyAuth() : applyDecorators(ApiBearerAuth('session'), ApiCookieAuth('session_cookie'));

function refusalsOf(accounts: readonly AccountType[]): Partial<typeof edgeRefusals> {
  const { wrong_account_type, cross_site_write } = edgeRefusals;
  return {
    ...(accounts.length === ANYONE.length ? {} : { wrong_account_type }),
    ...(accounts.includes('human') ? { cross_site_write } : {}),
  };
}

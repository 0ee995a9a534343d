import type { Scope } from '@market/contracts';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBearerAuth } from '@nestjs/swagger';
import { ApiRefusals } from '../openapi/refusal-responses.js';
import { edgeRefusals } from './edge-refusals.js';

/** Who may use a route: anyone, anyone but better with a key, any valid key, or a key that holds the scope. */
export type Access = 'public' | 'optional-key' | 'any-key' | Scope;

/** What a route says of itself before its handler is asked. */
export interface RouteRules {
  access: Access;
  /** `json` (default) is parsed and checked, `opaque` stays the text it is, `ignored` is not even read. */
  body?: 'json' | 'opaque' | 'ignored';
  bodyLimitBytes?: number;
  /** Waits as long as a seller may take, not only as long as the marketplace itself. */
  waitsForSeller?: boolean;
  /** Exists in sandbox mode alone. */
  sandboxOnly?: boolean;
}

type MoreRules = Omit<RouteRules, 'access'>;

const declare = (rules: RouteRules): MethodDecorator => RouteConfig({ rules });

/** Needs no credential and reads none. */
export const Public = (rules: MoreRules = {}): MethodDecorator => declare({ access: 'public', ...rules });

/** A key is not needed, but one that is sent must be good. */
export const OptionalKey = (rules: MoreRules = {}): MethodDecorator =>
  applyDecorators(declare({ access: 'optional-key', ...rules }), ApiBearerAuth('api_key'), ApiRefusals({ unauthorized: edgeRefusals.unauthorized }));

/** Any valid key, whatever its scopes. */
export const AnyKey = (rules: MoreRules = {}): MethodDecorator =>
  applyDecorators(declare({ access: 'any-key', ...rules }), ApiBearerAuth('api_key'), ApiRefusals({ unauthorized: edgeRefusals.unauthorized }));

export const RequireScope = (scope: Scope, rules: MoreRules = {}): MethodDecorator =>
  applyDecorators(declare({ access: scope, ...rules }), ApiBearerAuth('api_key'), ApiRefusals({ unauthorized: edgeRefusals.unauthorized, scope_missing: edgeRefusals.scope_missing }));

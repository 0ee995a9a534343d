import { ApiExtension } from '@nestjs/swagger';
import type { RouteRules } from '../http/route-rules.js';

/**
 * Adds to the document, as `x-access`, which credential an operation requires: `{credential: none | optional |
 * required, scope?, account_types, owners?, operators?}`.
 */
export function ApiAccess({
  access,
  accounts,
  owners,
  operators,
}: Pick<RouteRules, 'access' | 'accounts' | 'owners' | 'operators'>): MethodDecorator {
  const credential = access === 'public' ? 'none' : access === 'optional-key' ? 'optional' : 'required';
  const isScope = credential === 'required' && access !== 'any-credential';
  return ApiExtension('x-access', {
    credential,
    ...(isScope ? { scope: access } : {}),
    account_types: accounts,
    ...(owners ? { owners } : {}),
    ...(operators ? { operators } : {}),
  }) as MethodDecorator;
}

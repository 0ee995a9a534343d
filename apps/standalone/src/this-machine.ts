import type { Environment } from '@market/runtime';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/**
 * Defaults of a sandbox that only this machine can reach: sellers may run beside it, and one person may register many
 * agents.
 */
export function settingsOnThisMachine({ HOST = '127.0.0.1', PAYMENTS_MODE = 'sandbox' }: Environment): Environment {
  return PAYMENTS_MODE === 'sandbox' && LOOPBACK.includes(HOST)
    ? { ALLOW_PRIVATE_ENDPOINTS: 'true', RATE_LIMITS: 'registrations=600/3600' }
    : {};
}

import { NKeysError } from '@nats-io/nkeys';
import { AuthorizationError } from '@nats-io/transport-node';

/** Whether the broker does not let a service in because of its key. */
export const isRefusedKey = (error: unknown): boolean =>
  error instanceof AuthorizationError || error instanceof NKeysError;

export const REFUSED_KEY =
  'the server knows no user with this key, or wants a key and there is none; see deploy/nats/generate-keys.mjs';

/** The broker cannot be used. The message names the variable to change, and the servers without their passwords. */
export class BrokerFailure extends Error {
  constructor(servers: string[], error: unknown) {
    const reason = error instanceof Error ? error.message : String(error);
    super(
      `${isRefusedKey(error) ? 'NATS_NKEY_SEED' : 'NATS_URL'}: NATS at ${servers.map(withoutLogin).join(', ')} ` +
        `cannot be used (${reason})${isRefusedKey(error) ? `: ${REFUSED_KEY}` : ''}`,
      { cause: error },
    );
  }
}

const withoutLogin = (server: string): string => server.replace(/^(?:\w+:\/\/)?(?:.*@)?/, '');

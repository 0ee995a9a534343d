import { defineService, rpcServerCheck } from '@market/runtime';
import { identityConfig } from './config.js';
import { identityDatabase } from './database.js';
import { oidcProviderCheck } from './sessions/oidc-provider.js';
import { IdentityModule } from './identity.module.js';

export const identity = defineService({
  name: 'identity',
  module: IdentityModule,
  config: identityConfig,
  database: identityDatabase,
  checks: (config) => [
    ...[...config.evmRpcUrls].map(([chainId, url]) =>
      rpcServerCheck({ variable: 'IDENTITY_EVM_RPC_URLS', url, chainId: Number(chainId) }),
    ),
    ...(config.oidcIssuer === undefined ? [] : [oidcProviderCheck(config)]),
  ],
});

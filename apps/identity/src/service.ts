import { defineService, rpcServerCheck } from '@market/runtime';
import { identityConfig } from './config.js';
import { identityDatabase } from './database.js';
import { IdentityModule } from './identity.module.js';

export const identity = defineService({
  name: 'identity',
  module: IdentityModule,
  config: identityConfig,
  database: identityDatabase,
  checks: ({ evmRpcUrls }) =>
    [...evmRpcUrls].map(([chainId, url]) =>
      rpcServerCheck({ variable: 'IDENTITY_EVM_RPC_URLS', url, chainId: Number(chainId) }),
    ),
});

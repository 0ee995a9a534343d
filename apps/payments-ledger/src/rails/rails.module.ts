import { MessageBus } from '@market/messaging';
import { Database } from '@market/persistence';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { CheckPayable } from './check-payable.query.js';
import { configuredRails } from './configured-rails.js';
import { PAYMENT_RAILS, type PaymentRail } from './payment-rail.js';
import { SellerWallets } from './seller-wallets.js';
import { WatchReserves } from './watch-reserves.job.js';
import { SandboxRail } from './sandbox/sandbox.rail.js';
import { GasAccounts } from './x402/gas-accounts.js';
import { SandboxFacilitator } from './x402/sandbox-facilitator.js';

@Module({
  providers: [
    CheckPayable,
    SandboxFacilitator,
    WatchReserves,
    { provide: SellerWallets, useFactory: (bus: MessageBus) => new SellerWallets(bus), inject: [MessageBus] },
    {
      provide: SandboxRail,
      useFactory: (
        database: Database,
        facilitator: SandboxFacilitator,
        sellers: SellerWallets,
        { x402PayTo, minimumX402Micros }: PaymentsLedgerConfig,
      ) => new SandboxRail(database, facilitator, x402PayTo === 'seller' ? sellers : null, BigInt(minimumX402Micros)),
      inject: [Database, SandboxFacilitator, SellerWallets, paymentsLedgerConfig.token],
    },
    // Real rails come first, so that they are preferred on a network that the sandbox serves too.
    {
      provide: PAYMENT_RAILS,
      useFactory: async (
        sandbox: SandboxRail,
        { paymentsMode }: ConfigOf<typeof platformConfig>,
        config: PaymentsLedgerConfig,
        bus: MessageBus,
        sellers: SellerWallets,
        database: Database,
      ): Promise<PaymentRail[]> => [
        ...(await configuredRails(config, bus, sellers, new GasAccounts(database))),
        ...(paymentsMode === 'sandbox' ? [sandbox] : []),
      ],
      inject: [SandboxRail, platformConfig.token, paymentsLedgerConfig.token, MessageBus, SellerWallets, Database],
    },
  ],
  exports: [CheckPayable, PAYMENT_RAILS, SandboxRail, SellerWallets],
})
export class RailsModule {}

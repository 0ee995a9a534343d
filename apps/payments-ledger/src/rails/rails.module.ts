import { MessageBus } from '@market/messaging';
import { Database } from '@market/persistence';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { configuredRails } from './configured-rails.js';
import { PAYMENT_RAILS, type PaymentRail } from './payment-rail.js';
import { SellerWallets } from './seller-wallets.js';
import { SandboxRail } from './sandbox/sandbox.rail.js';
import { SandboxFacilitator } from './x402/sandbox-facilitator.js';

@Module({
  providers: [
    SandboxFacilitator,
    { provide: SellerWallets, useFactory: (bus: MessageBus) => new SellerWallets(bus), inject: [MessageBus] },
    {
      provide: SandboxRail,
      useFactory: (
        database: Database,
        facilitator: SandboxFacilitator,
        sellers: SellerWallets,
        { x402PayTo }: PaymentsLedgerConfig,
      ) => new SandboxRail(database, facilitator, x402PayTo === 'seller' ? sellers : null),
      inject: [Database, SandboxFacilitator, SellerWallets, paymentsLedgerConfig.token],
    },
    // Real rails come first, so that they are preferred on a network that the sandbox serves too.
    {
      provide: PAYMENT_RAILS,
      useFactory: (
        sandbox: SandboxRail,
        { paymentsMode }: ConfigOf<typeof platformConfig>,
        config: PaymentsLedgerConfig,
        bus: MessageBus,
        sellers: SellerWallets,
      ): PaymentRail[] => [...configuredRails(config, bus, sellers), ...(paymentsMode === 'sandbox' ? [sandbox] : [])],
      inject: [SandboxRail, platformConfig.token, paymentsLedgerConfig.token, MessageBus, SellerWallets],
    },
  ],
  exports: [PAYMENT_RAILS, SandboxRail, SellerWallets],
})
export class RailsModule {}

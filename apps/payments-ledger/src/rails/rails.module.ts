import { MessageBus } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { configuredRails } from './configured-rails.js';
import { PAYMENT_RAILS, type PaymentRail } from './payment-rail.js';
import { SandboxRail } from './sandbox/sandbox.rail.js';
import { SandboxFacilitator } from './x402/sandbox-facilitator.js';

@Module({
  providers: [
    SandboxRail,
    SandboxFacilitator,
    // A real rail comes first: on a network that both serve it is the one that was asked for.
    {
      provide: PAYMENT_RAILS,
      useFactory: (
        sandbox: SandboxRail,
        { paymentsMode }: ConfigOf<typeof platformConfig>,
        config: PaymentsLedgerConfig,
        bus: MessageBus,
      ): PaymentRail[] => [...configuredRails(config, bus), ...(paymentsMode === 'sandbox' ? [sandbox] : [])],
      inject: [SandboxRail, platformConfig.token, paymentsLedgerConfig.token, MessageBus],
    },
  ],
  exports: [PAYMENT_RAILS, SandboxRail],
})
export class RailsModule {}

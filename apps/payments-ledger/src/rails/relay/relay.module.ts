import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../payments/payments.module.js';
import { HandleRelayWebhook } from './handle-relay-webhook.use-case.js';

@Module({ imports: [PaymentsModule], providers: [HandleRelayWebhook] })
export class RelayModule {}

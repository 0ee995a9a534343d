import { Module } from '@nestjs/common';
import { EgressModule } from '../egress/egress.module.js';
import { gatewayLimits } from '../gateway-limits.js';
import { CreateWebhook } from './create-webhook.use-case.js';
import { DeliverWebhooks } from './deliver-webhooks.job.js';
import { OwnWebhooks } from './own-webhooks.js';
import { RotateWebhookSecret } from './rotate-webhook-secret.use-case.js';
import { TestWebhook } from './test-webhook.use-case.js';
import { UpdateWebhook } from './update-webhook.use-case.js';
import { WebhookDeliveries } from './webhook-deliveries.js';
import { WebhooksEventController } from './webhooks.event-controller.js';
import { WebhooksRepository } from './webhooks.repository.js';

@Module({
  imports: [gatewayLimits, EgressModule],
  controllers: [WebhooksEventController],
  providers: [
    OwnWebhooks,
    WebhooksRepository,
    WebhookDeliveries,
    CreateWebhook,
    UpdateWebhook,
    RotateWebhookSecret,
    TestWebhook,
    DeliverWebhooks,
  ],
})
export class WebhooksModule {}

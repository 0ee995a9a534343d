import type { InputOf, OutputOf } from '@market/contracts';
import { testWebhook } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { Limits, type LimitRule } from '@market/limits';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { WebhookSender } from '../egress/webhook-sender.js';
import { targetOf } from './webhook.js';
import { WebhooksRepository } from './webhooks.repository.js';

const TESTS: LimitRule = { name: 'webhook-tests', points: 10, perSeconds: 60 };

/** Sends an event of the type `test` at once, to a paused or disabled webhook, too. It is not in the log. */
@Injectable()
export class TestWebhook {
  constructor(
    private readonly database: Database,
    private readonly webhooks: WebhooksRepository,
    private readonly sender: WebhookSender,
    private readonly cipher: FieldCipher,
    private readonly limits: Limits,
  ) {}

  @HandleRequest(testWebhook)
  async execute(
    { webhook_id: id }: InputOf<typeof testWebhook>,
    context: RequestContext,
  ): Promise<OutputOf<typeof testWebhook>> {
    const row = await this.webhooks.findOwn(this.database, id, context);
    const { allowed, retryAfterSeconds } = await this.limits.consume(TESTS, id);
    if (!allowed) throw refuse(testWebhook, 'too_many_tests', { retry_after_seconds: retryAfterSeconds });
    const messageId = `evt_${newId()}_test`;
    const rawBody = JSON.stringify({ id: '0', type: 'test', at: new Date().toISOString(), data: { webhook_id: id } });
    const { statusCode, failure, latencyMs } = await this.sender.send(
      { ...targetOf(row, this.cipher), messageId, rawBody },
      AbortSignal.timeout(Math.max(1, context.deadlineAt - Date.now() - 1_000)),
      context.traceparent,
    );
    return {
      success: failure === null,
      message_id: messageId,
      status_code: statusCode,
      failure,
      latency_ms: latencyMs,
    };
  }
}

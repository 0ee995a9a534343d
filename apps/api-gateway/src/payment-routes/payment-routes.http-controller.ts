import { listPaymentRoutes, paymentRoute, type PaymentRoute } from '@market/contracts/payments-ledger';
import { MessageBus } from '@market/messaging';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { success } from '../http/envelope.js';
import { sendCacheable } from '../http/public-cache.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';

export const routeExample: PaymentRoute = {
  provider: 'sandbox',
  currency: 'ETH',
  network: 'eip155:84532',
  chain_id: '84532',
  decimals: 18,
  schemes: ['deposit'],
  minimum_usd: 0.1,
  unit_price_usd: 3000,
  closed: null,
  headers: { 'X-Market-Origin-Currency': 'ETH', 'X-Market-Origin-Chain-Id': 'eip155:84532' },
};

@ApiTags('Payments')
@Controller('payment-routes')
export class PaymentRoutesHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get()
  @Public()
  @Operation({
    summary: 'The ways a payment can take',
    description:
      'Every currency and chain that is on, with the least price it carries and what one unit of the currency ' +
      'costs, where that is the same for every offer. The headers of a route choose it for a call.',
    asks: [listPaymentRoutes],
    cacheable: true,
    answer: {
      schema: envelopeSchema({ type: 'array', items: jsonSchemaOf(paymentRoute) }),
      example: success([routeExample]),
    },
  })
  async listPaymentRoutes(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const { routes } = await this.bus.request(listPaymentRoutes, {}, request.context);
    return sendCacheable(request, reply, success(routes));
  }
}

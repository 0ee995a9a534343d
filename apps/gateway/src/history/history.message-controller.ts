import type { InputOf } from '@market/contracts';
import { getGatewayRequest, listGatewayRequests } from '@market/contracts/gateway';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { GatewayRequestsQuery } from './gateway-requests.query.js';

@Controller()
export class HistoryMessageController {
  constructor(private readonly requests: GatewayRequestsQuery) {}

  @HandleRequest(listGatewayRequests)
  listGatewayRequests(input: InputOf<typeof listGatewayRequests>, context: RequestContext) {
    return this.requests.list(input, context);
  }

  @HandleRequest(getGatewayRequest)
  getGatewayRequest(input: InputOf<typeof getGatewayRequest>, context: RequestContext) {
    return this.requests.get(input, context);
  }
}

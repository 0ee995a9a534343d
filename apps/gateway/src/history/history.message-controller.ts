import type { InputOf } from '@market/contracts';
import { findCalls, getGatewayRequest, inspectCall, listGatewayRequests } from '@market/contracts/gateway';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
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

  @HandleRequest(findCalls)
  findCalls(input: InputOf<typeof findCalls>, context: RequestContext) {
    operatorOf(context);
    return this.requests.find(input);
  }

  @HandleRequest(inspectCall)
  inspectCall(input: InputOf<typeof inspectCall>, context: RequestContext) {
    operatorOf(context);
    return this.requests.inspect(input);
  }
}

import type { InputOf, OutputOf } from '@market/contracts';
import { getEndpoint } from '@market/contracts/gateway';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { toView } from './endpoint.js';
import { EndpointsRepository } from './endpoints.repository.js';

@Injectable()
export class GetEndpoint {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsRepository,
  ) {}

  @HandleRequest(getEndpoint)
  async execute(
    { listing_id }: InputOf<typeof getEndpoint>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getEndpoint>> {
    const endpoint = await this.endpoints.findOwn(this.database, listing_id, context);
    return toView(endpoint, await this.endpoints.secretsOf(this.database, listing_id));
  }
}

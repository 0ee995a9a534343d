import {
  getEndpoint,
  provisionEndpoint,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from '@market/contracts/gateway';
import type { InputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { toView } from './endpoint.js';
import { EndpointsRepository } from './endpoints.repository.js';
import { ProvisionEndpoint } from './provision-endpoint.use-case.js';
import { RotateEndpointSecret } from './rotate-endpoint-secret.use-case.js';
import { TestEndpoint } from './test-endpoint.use-case.js';
import { UpdateEndpoint } from './update-endpoint.use-case.js';

@Controller()
export class EndpointsMessageController {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsRepository,
    private readonly provisionUseCase: ProvisionEndpoint,
    private readonly updateUseCase: UpdateEndpoint,
    private readonly testUseCase: TestEndpoint,
    private readonly rotateUseCase: RotateEndpointSecret,
  ) {}

  @HandleRequest(provisionEndpoint)
  provisionEndpoint(input: InputOf<typeof provisionEndpoint>, context: RequestContext) {
    return this.provisionUseCase.execute(input, context);
  }

  @HandleRequest(getEndpoint)
  async getEndpoint({ listing_id }: InputOf<typeof getEndpoint>, context: RequestContext) {
    const endpoint = await this.endpoints.findOwn(this.database, listing_id, context);
    return toView(endpoint, await this.endpoints.secretsOf(this.database, listing_id));
  }

  @HandleRequest(updateEndpoint)
  updateEndpoint(input: InputOf<typeof updateEndpoint>, context: RequestContext) {
    return this.updateUseCase.execute(input, context);
  }

  @HandleRequest(testEndpoint)
  testEndpoint(input: InputOf<typeof testEndpoint>, context: RequestContext) {
    return this.testUseCase.execute(input, context);
  }

  @HandleRequest(rotateEndpointSecret)
  rotateEndpointSecret(input: InputOf<typeof rotateEndpointSecret>, context: RequestContext) {
    return this.rotateUseCase.execute(input, context);
  }
}

import {
  getEndpoint,
  provisionEndpoint,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { toView } from './endpoint.js';
import { OwnedEndpoint } from './owned-endpoint.js';
import { ProvisionEndpoint } from './provision-endpoint.use-case.js';
import { RotateEndpointSecret } from './rotate-endpoint-secret.use-case.js';
import { TestEndpoint } from './test-endpoint.use-case.js';
import { UpdateEndpoint } from './update-endpoint.use-case.js';

@Controller()
export class EndpointsMessageController {
  constructor(
    private readonly database: Database,
    private readonly owned: OwnedEndpoint,
    private readonly provisionUseCase: ProvisionEndpoint,
    private readonly updateUseCase: UpdateEndpoint,
    private readonly testUseCase: TestEndpoint,
    private readonly rotateUseCase: RotateEndpointSecret,
  ) {}

  @HandleRequest(provisionEndpoint)
  provisionEndpoint(
    input: InputOf<typeof provisionEndpoint>,
    context: RequestContext,
  ): Promise<OutputOf<typeof provisionEndpoint>> {
    return this.provisionUseCase.execute(input, context);
  }

  @HandleRequest(getEndpoint)
  async getEndpoint(
    { listingId }: InputOf<typeof getEndpoint>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getEndpoint>> {
    return this.database.read(async (manager) =>
      toView(await this.owned.find(manager, listingId, context), await this.owned.secretsOf(manager, listingId)),
    );
  }

  @HandleRequest(updateEndpoint)
  updateEndpoint(
    input: InputOf<typeof updateEndpoint>,
    context: RequestContext,
  ): Promise<OutputOf<typeof updateEndpoint>> {
    return this.updateUseCase.execute(input, context);
  }

  @HandleRequest(testEndpoint)
  testEndpoint(input: InputOf<typeof testEndpoint>, context: RequestContext): Promise<OutputOf<typeof testEndpoint>> {
    return this.testUseCase.execute(input, context);
  }

  @HandleRequest(rotateEndpointSecret)
  rotateEndpointSecret(
    input: InputOf<typeof rotateEndpointSecret>,
    context: RequestContext,
  ): Promise<OutputOf<typeof rotateEndpointSecret>> {
    return this.rotateUseCase.execute(input, context);
  }
}

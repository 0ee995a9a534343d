import type { InputOf } from '@market/contracts';
import {
  authenticate,
  createApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  updateApiKey,
} from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { Authenticate } from './authenticate.query.js';
import { CreateApiKey } from './create-api-key.use-case.js';
import { ReadApiKeys } from './read-api-keys.query.js';
import { RevokeApiKey } from './revoke-api-key.use-case.js';
import { UpdateApiKey } from './update-api-key.use-case.js';

@Controller()
export class ApiKeysMessageController {
  constructor(
    private readonly authenticateQuery: Authenticate,
    private readonly readApiKeys: ReadApiKeys,
    private readonly createApiKeyUseCase: CreateApiKey,
    private readonly updateApiKeyUseCase: UpdateApiKey,
    private readonly revokeApiKeyUseCase: RevokeApiKey,
  ) {}

  @HandleRequest(authenticate)
  authenticate(input: InputOf<typeof authenticate>) {
    return this.authenticateQuery.execute(input);
  }

  @HandleRequest(listApiKeys)
  listApiKeys(_input: InputOf<typeof listApiKeys>, context: RequestContext) {
    return this.readApiKeys.list(principalOf(context).accountId);
  }

  @HandleRequest(getApiKey)
  getApiKey(input: InputOf<typeof getApiKey>, context: RequestContext) {
    return this.readApiKeys.get(input.key_id, principalOf(context).accountId);
  }

  @HandleRequest(updateApiKey)
  updateApiKey(input: InputOf<typeof updateApiKey>, context: RequestContext) {
    return this.updateApiKeyUseCase.execute(input, context);
  }

  @HandleRequest(createApiKey)
  createApiKey(input: InputOf<typeof createApiKey>, context: RequestContext) {
    return this.createApiKeyUseCase.execute(input, context);
  }

  @HandleRequest(revokeApiKey)
  revokeApiKey(input: InputOf<typeof revokeApiKey>, context: RequestContext) {
    return this.revokeApiKeyUseCase.execute(input.key_id, principalOf(context).accountId);
  }
}

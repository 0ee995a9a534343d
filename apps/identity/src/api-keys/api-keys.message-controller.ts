import type { InputOf } from '@market/contracts';
import { authenticate, createApiKey, listApiKeys, revokeApiKey } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { Authenticate } from './authenticate.query.js';
import { CreateApiKey } from './create-api-key.use-case.js';
import { ListApiKeys } from './list-api-keys.query.js';
import { RevokeApiKey } from './revoke-api-key.use-case.js';

@Controller()
export class ApiKeysMessageController {
  constructor(
    private readonly authenticateQuery: Authenticate,
    private readonly listApiKeysQuery: ListApiKeys,
    private readonly createApiKeyUseCase: CreateApiKey,
    private readonly revokeApiKeyUseCase: RevokeApiKey,
  ) {}

  @HandleRequest(authenticate)
  authenticate(input: InputOf<typeof authenticate>) {
    return this.authenticateQuery.execute(input);
  }

  @HandleRequest(listApiKeys)
  listApiKeys(_input: InputOf<typeof listApiKeys>, context: RequestContext) {
    return this.listApiKeysQuery.execute(principalOf(context).accountId);
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

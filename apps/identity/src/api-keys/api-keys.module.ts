import { Module } from '@nestjs/common';
import { ApiKeysMessageController } from './api-keys.message-controller.js';
import { ApiKeys } from './api-keys.js';
import { Authenticate } from './authenticate.query.js';
import { CreateApiKey } from './create-api-key.use-case.js';
import { ListApiKeys } from './list-api-keys.query.js';
import { RecordKeyUse } from './record-key-use.job.js';
import { RevokeApiKey } from './revoke-api-key.use-case.js';

@Module({
  controllers: [ApiKeysMessageController],
  providers: [ApiKeys, Authenticate, ListApiKeys, CreateApiKey, RevokeApiKey, RecordKeyUse],
  exports: [ApiKeys],
})
export class ApiKeysModule {}

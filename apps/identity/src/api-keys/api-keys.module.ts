import { Module } from '@nestjs/common';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { ApiKeys } from './api-keys.js';
import { Authenticate } from './authenticate.query.js';
import { CreateApiKey } from './create-api-key.use-case.js';
import { ReadApiKeys } from './read-api-keys.query.js';
import { RecordKeyUse } from './record-key-use.job.js';
import { RevokeApiKey } from './revoke-api-key.use-case.js';
import { UpdateApiKey } from './update-api-key.use-case.js';

@Module({
  imports: [BudgetsModule],
  providers: [ApiKeys, Authenticate, ReadApiKeys, CreateApiKey, UpdateApiKey, RevokeApiKey, RecordKeyUse],
  exports: [ApiKeys, ReadApiKeys],
})
export class ApiKeysModule {}

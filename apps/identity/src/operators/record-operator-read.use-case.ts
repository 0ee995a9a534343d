import type { InputOf, OutputOf } from '@market/contracts';
import { recordOperatorRead } from '@market/contracts/identity';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Database, recordOperatorAction } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** Records what an operator has looked at. */
@Injectable()
export class RecordOperatorRead {
  constructor(private readonly database: Database) {}

  @HandleRequest(recordOperatorRead)
  async execute(
    { command, subject }: InputOf<typeof recordOperatorRead>,
    context: RequestContext,
  ): Promise<OutputOf<typeof recordOperatorRead>> {
    const operator = operatorOf(context);
    await this.database.transaction((tx) => recordOperatorAction(tx, { operator, command, subject, reason: null }));
    return {};
  }
}

import { operationsOf, type InputOf, type OutputOf, type ServiceName } from '@market/contracts';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Database, latestOperatorActions, oldestUnpublished, queueLengths } from '@market/persistence';
import { Injectable, type Type } from '@nestjs/common';

/** Answers the requests of operators that every service supports: its queues, and the operators' actions on it. */
export function operationsOfService(service: ServiceName): Type {
  const { getQueues, listOperatorActions } = operationsOf(service);

  @Injectable()
  class Operations {
    constructor(private readonly database: Database) {}

    @HandleRequest(getQueues)
    async getQueues(_input: InputOf<typeof getQueues>, context: RequestContext): Promise<OutputOf<typeof getQueues>> {
      operatorOf(context);
      const [[lengths], [oldest]] = await Promise.all([
        this.database.query<{ outbox: number; parked: number; dead_letters: number }>(queueLengths),
        this.database.query<{ seconds: number }>(oldestUnpublished),
      ]);
      const { outbox, ...others } = lengths!;
      return { unpublished: outbox, oldest_unpublished_seconds: oldest!.seconds, ...others };
    }

    @HandleRequest(listOperatorActions)
    async listOperatorActions(
      { before, limit }: InputOf<typeof listOperatorActions>,
      context: RequestContext,
    ): Promise<OutputOf<typeof listOperatorActions>> {
      operatorOf(context);
      const { actions, total } = await latestOperatorActions(this.database, limit, before);
      return { total, actions: actions.map(({ doneAt, ...action }) => ({ ...action, at: doneAt.toISOString() })) };
    }
  }
  return Operations;
}

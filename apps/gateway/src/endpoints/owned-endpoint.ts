import { endpointChanged, endpointTouched, getEndpoint } from '@market/contracts/gateway';
import { MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Outbox, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { EndpointSecretEntity } from './endpoint-secret.entity.js';
import { EndpointEntity } from './endpoint.entity.js';
import { limitsOf } from './endpoint.js';

/** Finds and saves the caller's own endpoint. */
@Injectable()
export class OwnedEndpoint {
  constructor(
    private readonly outbox: Outbox,
    private readonly bus: MessageBus,
  ) {}

  /** @throws Refusal `endpoint_not_found`, also for the endpoint of another seller. */
  async find(
    manager: EntityManager,
    listingId: string,
    context: RequestContext,
    lock = false,
  ): Promise<EndpointEntity> {
    const endpoint = await manager.findOne(EndpointEntity, {
      where: { listingId },
      ...(lock ? { lock: { mode: 'pessimistic_write' } } : {}),
    });
    if (endpoint?.sellerId !== principalOf(context).accountId) throw refuse(getEndpoint, 'endpoint_not_found', {});
    return endpoint;
  }

  secretsOf(manager: EntityManager, listingId: string): Promise<EndpointSecretEntity[]> {
    return manager.findBy(EndpointSecretEntity, { listingId });
  }

  /** Saves a changed endpoint and publishes the change: the event in the same transaction, the signal after the commit. */
  async save(tx: Tx, endpoint: EndpointEntity, context: RequestContext): Promise<EndpointEntity> {
    endpoint.version += 1;
    const saved = await tx.manager.save(endpoint);
    await this.outbox.add(
      tx,
      endpointChanged,
      {
        listingId: saved.listingId,
        version: saved.version,
        status: saved.status,
        limits: limitsOf(saved),
        changedAt: saved.updatedAt.toISOString(),
      },
      context,
    );
    tx.afterCommit(() => this.bus.signal(endpointTouched, { listingId: saved.listingId }));
    return saved;
  }
}

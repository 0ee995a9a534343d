import { executeCall } from '@market/contracts/gateway';
import { refuse } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';

/** An active call takes a fraction of a second. */
const RETRY_SECONDS = 1;

/**
 * Limits the calls that this process and the services behind it work on. Calls beyond their capacity would slow down
 * all calls until the clients give up, so a call above the limit is refused before any work is done for it. Calls that
 * wait for their seller use almost no resources and are not counted.
 */
@Injectable()
export class ActiveCalls {
  private count = 0;

  constructor(@Inject(gatewayConfig.token) private readonly config: Pick<GatewayConfig, 'activeCallsMax'>) {}

  /** @throws Refusal `overloaded`. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.count >= this.config.activeCallsMax)
      throw refuse(executeCall, 'overloaded', { retry_after_seconds: RETRY_SECONDS });
    this.count += 1;
    try {
      return await work();
    } finally {
      this.count -= 1;
    }
  }

  /**
   * Does not count an active call while it waits for its seller. Once the seller has answered, the call continues even
   * if the limit is reached. A stream goes on when its call has been answered: `wait` says when.
   */
  async whileAtSeller<T>(wait: (answered: () => void) => Promise<T>): Promise<T> {
    let isAway = true;
    const back = (): void => {
      if (isAway) this.count += 1;
      isAway = false;
    };
    this.count -= 1;
    try {
      return await wait(back);
    } finally {
      back();
    }
  }
}

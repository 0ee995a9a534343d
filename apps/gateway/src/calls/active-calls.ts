import { executeCall } from '@market/contracts/gateway';
import { refuse } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';

/** An active call takes a fraction of a second. */
const RETRY_SECONDS = 1;

/**
 * The calls that this process and those behind it work on. More of them than can be carried would only make all of them
 * slower, until their clients have gone; so one too many is refused before anything is done for it. Those that wait for
 * their seller cost nothing and are not counted.
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

  /** Lets others take the place of a call that is active, until its seller has answered; then it goes on, however many there are. */
  async whileAtSeller<T>(wait: () => Promise<T>): Promise<T> {
    this.count -= 1;
    try {
      return await wait();
    } finally {
      this.count += 1;
    }
  }
}

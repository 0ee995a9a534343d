import { getAgents, type PublicProfile } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

const CACHE_TTL_MS = 60_000;
const MAX_CACHED = 10_000;
const BATCH_SIZE = 100;

/** The buyer or the seller of a call or a receipt, as the API shows it. */
export interface Party {
  id: string;
  display_name: string;
}

export interface PartyWithPicture extends Party {
  avatar_url: string | null;
}

/** Finds the display names of accounts and caches them for a minute. */
@Injectable()
export class DisplayNames {
  private readonly cache = new LRUCache<string, PublicProfile>({
    max: MAX_CACHED,
    ttl: CACHE_TTL_MS,
    ttlResolution: 0,
  });

  constructor(private readonly bus: MessageBus) {}

  /** Sends one bus request per hundred accounts that are not cached. */
  async named(ids: string[], context: RequestContext): Promise<(id: string) => PartyWithPicture> {
    const found = new Map<string, PublicProfile>();
    const unknown: string[] = [];
    for (const id of new Set(ids)) {
      const profile = this.cache.get(id);
      if (profile) found.set(id, profile);
      else unknown.push(id);
    }
    for (let from = 0; from < unknown.length; from += BATCH_SIZE) {
      const { agents } = await this.bus.request(getAgents, { ids: unknown.slice(from, from + BATCH_SIZE) }, context);
      for (const profile of agents) {
        found.set(profile.id, profile);
        this.cache.set(profile.id, profile);
      }
    }
    return (id) => {
      const profile = found.get(id);
      return { id, display_name: profile?.display_name ?? 'Unknown account', avatar_url: profile?.avatar_url ?? null };
    };
  }
}

export const withoutPicture = ({ id, display_name }: PartyWithPicture): Party => ({ id, display_name });

import type { InputOf, PricingModel } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';
import { newId } from '@market/kernel';
import { SAMPLE_DEEDS, SAMPLE_QUALITIES, sampleSubject } from './sample-words.js';

type DeliveryType = NonNullable<InputOf<typeof searchListings>['deliveryType']>;

export interface SampleListing {
  id: string;
  providerId: string;
  slug: string;
  name: string;
  description: string;
  tags: string[];
  categoryId: string | null;
  pricingModel: PricingModel;
  priceMicros: number;
  deliveryType: DeliveryType;
  status: 'active' | 'draft' | 'suspended';
  createdAt: Date;
  completedCalls: number;
}

export interface SampleProvider {
  id: string;
  displayName: string;
}

const YEAR_MS = 365 * 86_400_000;
const LISTINGS_A_SELLER = 100;
const MOST_CALLS = 200_000;

const PRICING: readonly (readonly [PricingModel, number])[] = [
  ['per_call', 55],
  ['free', 20],
  ['monthly', 15],
  ['yearly', 5],
  ['usage_tiered', 5],
];
const DELIVERY: readonly (readonly [DeliveryType, number])[] = [
  ['api', 70],
  ['webhook', 12],
  ['streaming', 8],
  ['batch', 6],
  ['file', 4],
];
const STATUS: readonly (readonly [SampleListing['status'], number])[] = [
  ['active', 96],
  ['draft', 3],
  ['suspended', 1],
];

/** Makes listings as a large market would have them: few words, sellers and listings are common, most are rare. */
export class SampleListings {
  readonly providers: readonly SampleProvider[];
  private readonly quality = zipf(SAMPLE_QUALITIES);
  private readonly deed = zipf(SAMPLE_DEEDS);
  private readonly provider: (random: number) => SampleProvider;

  /** @param seed the same one makes the same listings, but for their ids and times. */
  constructor(
    count: number,
    private readonly categoryIds: readonly string[],
    private readonly now: number,
    private seed: number,
  ) {
    this.providers = Array.from({ length: Math.ceil(count / LISTINGS_A_SELLER) }, () => ({ id: newId(), displayName: `${capital(subject(this.random()))} ${capital(subject(this.random()))}` }));
    this.provider = zipf(this.providers);
  }

  next(): SampleListing {
    const createdAt = new Date(this.now - Math.floor(this.random() * YEAR_MS));
    const id = newId(createdAt.getTime());
    const subjects = this.many(subject, 1, 3);
    const name = capital([...this.many(this.quality, 0, 1), ...subjects].join(' ')).slice(0, 100);
    const pricingModel = choose(PRICING, this.random());
    return {
      id,
      providerId: this.provider(this.random()).id,
      slug: `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${id.slice(-8)}`,
      name,
      description: this.sentences(),
      tags: ['sample', ...new Set([subjects[0]!, ...this.many(subject, 0, 3)])],
      categoryId: this.random() < 0.05 ? null : this.categoryIds[Math.floor(this.random() ** 2 * this.categoryIds.length)]!,
      pricingModel,
      priceMicros: pricingModel === 'free' ? 0 : this.price(pricingModel === 'per_call' ? 0.001 : 5, pricingModel === 'per_call' ? 5 : 5_000),
      deliveryType: choose(DELIVERY, this.random()),
      status: choose(STATUS, this.random()),
      createdAt,
      completedCalls: Math.floor(MOST_CALLS ** this.random() ** 3) - 1,
    };
  }

  /** "Verified weather data, hourly. We compare markets, prices and flights for hotels." */
  private sentences(): string {
    return Array.from({ length: 2 + Math.floor(this.random() * 4) }, () => {
      const what = this.many(subject, 4, 9);
      return `${capital(this.deed(this.random()))} ${this.quality(this.random())} ${what.slice(0, 2).join(' ')} for ${what.slice(2).join(', ')}.`;
    }).join(' ');
  }

  /** Evenly over the orders of magnitude, and one in four just what others ask. */
  private price(least: number, most: number): number {
    const dollars = least * (most / least) ** this.random();
    const digits = this.random() < 0.25 ? 1 : 3;
    return Math.round(Number(dollars.toPrecision(digits)) * 1_000_000);
  }

  private many(pick: (random: number) => string, min: number, max: number): string[] {
    return Array.from({ length: min + Math.floor(this.random() * (max - min + 1)) }, () => pick(this.random()));
  }

  /** From 0 to below 1 (mulberry32). */
  private random(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.seed ^ (this.seed >>> 15), this.seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Words of a kind are as common as Zipf's law has it, with Mandelbrot's shift: the first few about equally. */
const SHIFT = 6;
/** From here on words are rarer than that law has them, and so there is no end of them; English has this bend too. */
const BEND = 8_000 + SHIFT;
const COMMON = Math.log(BEND / SHIFT);

/**
 * The vocabulary grows as the square root of what is written in it (Heaps' law).
 * @param random from 0 to below 1.
 */
function subject(random: number): string {
  const at = random * (COMMON + 1);
  return sampleSubject(Math.floor((at < COMMON ? SHIFT * Math.exp(at) : BEND / (COMMON + 1 - at)) - SHIFT));
}

/** Most common first. */
function zipf<T>(items: readonly T[]): (random: number) => T {
  let sum = 0;
  const cumulative = Float64Array.from(items, (_, index) => (sum += 1 / (index + SHIFT)));
  return (random) => {
    let [low, high] = [0, items.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (cumulative[middle]! <= random * sum) low = middle + 1;
      else high = middle;
    }
    return items[low]!;
  };
}

function choose<T>(weighted: readonly (readonly [T, number])[], random: number): T {
  let left = random * 100;
  return (weighted.find(([, percent]) => (left -= percent) < 0) ?? weighted[0]!)[0];
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

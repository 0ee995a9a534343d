import type { Micros } from '@market/kernel';
import { Column, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';
import type { HeldAs, ListingStatus, Suspender } from '../domain/listing-state.js';
import type { Price } from '../domain/pricing.js';

const micros: ValueTransformer = { to: (value?: Micros) => value?.toString(), from: (value: string) => BigInt(value) };

/** All of a listing that is written; `search` is generated from it. */
@Entity('listings')
export class ListingEntity {
  @PrimaryColumn('uuid') id: string;
  /** Grows with each change. */
  @Column('int') version: number;
  @Column('uuid', { name: 'provider_id' }) providerId: string;
  @Column('text') slug: string;
  @Column('text') name: string;
  @Column('text') description: string;
  @Column('uuid', { name: 'category_id', nullable: true }) categoryId: string | null;
  @Column('text', { name: 'pricing_model' }) pricingModel: Price['model'];
  @Column('bigint', { name: 'price_micros', transformer: micros }) priceMicros: Micros;
  @Column('text', { name: 'pricing_currency' }) pricingCurrency: string;
  @Column('text', { name: 'preferred_currency' }) preferredCurrency: 'USDC' | 'ETH' | 'SOL';
  @Column('text', { name: 'delivery_type' }) deliveryType: string;
  @Column('text', { name: 'auth_method' }) authMethod: string;
  @Column('text', { array: true }) formats: string[];
  @Column('text', { nullable: true }) docs: string | null;
  @Column('text', { name: 'connection_instructions', nullable: true }) connectionInstructions: string | null;
  @Column('jsonb', { name: 'example_outputs' }) exampleOutputs: { label: string; content: string }[];
  @Column('text', { name: 'demo_endpoint', nullable: true }) demoEndpoint: string | null;
  @Column('text', { name: 'github_url', nullable: true }) githubUrl: string | null;
  @Column('text', { name: 'logo_url', nullable: true }) logoUrl: string | null;
  @Column('text', { name: 'expected_delivery', nullable: true }) expectedDelivery: string | null;
  @Column('text', { name: 'risk_disclaimers', nullable: true }) riskDisclaimers: string | null;
  @Column('text', { nullable: true }) sla: string | null;
  @Column('text', { array: true }) tags: string[];
  @Column('text') status: ListingStatus;
  @Column('text', { name: 'suspended_by', nullable: true }) suspendedBy: Suspender | null;
  /** What an operator's release brings back. */
  @Column('text', { name: 'held_as', nullable: true }) heldAs: HeldAs | null;
  /** When it first became active; its address is kept from then on. */
  @Column('timestamptz', { name: 'published_at', nullable: true }) publishedAt: Date | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt: Date;
}

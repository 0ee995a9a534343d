import type { CreateListing, ListingDetail, PricingModel } from '@market/sdk';
import { useCategories } from '../api/public-queries.js';
import { schemaOf } from '../lib/infer-schema.js';
import { ChoiceField, TextField } from '../parts/form.js';

const MODELS: Record<PricingModel, string> = {
  per_call: 'Per call',
  monthly: 'Per month',
  yearly: 'Per year',
  usage_tiered: 'By usage',
  free: 'Free',
};

/** What the form of a listing holds: every field as text. */
export interface ListingDraft {
  name: string;
  description: string;
  category_id: string;
  tags: string;
  pricing_model: PricingModel;
  pricing_amount: string;
  included_calls: string;
  free_calls: string;
  formats: string;
  request_formats: string;
  example_input: string;
  input_schema: string;
  connection_instructions: string;
  private_endpoint_url: string;
}

const jsonOf = (value: object | null): string => (value === null ? '' : JSON.stringify(value, null, 2));

export const draftOf = (listing?: ListingDetail): ListingDraft => ({
  name: listing?.name ?? '',
  description: listing?.description ?? '',
  category_id: listing?.category_id ?? '',
  tags: listing?.tags.join(', ') ?? '',
  pricing_model: listing?.pricing_model ?? 'per_call',
  pricing_amount: listing ? String(listing.pricing_amount) : '',
  included_calls: String(listing?.included_calls ?? ''),
  free_calls: String(listing?.free_calls ?? ''),
  formats: listing?.formats.join(', ') ?? 'json',
  request_formats: listing?.request_formats.join(', ') ?? 'json',
  example_input: jsonOf(listing?.example_input ?? null),
  input_schema: jsonOf(listing?.input_schema ?? null),
  connection_instructions: listing?.connection_instructions ?? '',
  private_endpoint_url: '',
});

/**
 * The body of the request. What cannot be read, such as text that is no JSON, is sent as it is, so that the marketplace
 * names it together with every other problem.
 */
export const bodyOfDraft = (draft: ListingDraft, hasEndpoint: boolean): Omit<CreateListing, 'status'> => {
  const { pricing_model, pricing_amount: amount, private_endpoint_url: url } = draft;
  const isTried = isCalled(draft) && pricing_model !== 'free';
  return {
    name: draft.name,
    description: draft.description,
    category_id: draft.category_id || null,
    tags: listIn(draft.tags),
    pricing_model,
    pricing_amount: pricing_model === 'free' ? 0 : ((amount === '' ? '' : Number(amount)) as number),
    included_calls: hasPeriods(draft) && draft.included_calls !== '' ? Number(draft.included_calls) : null,
    free_calls: isTried && draft.free_calls !== '' ? Number(draft.free_calls) : null,
    formats: listIn(draft.formats),
    ...(isCalled(draft) && { request_formats: listIn(draft.request_formats) }),
    example_input: readJson(draft.example_input) as null,
    input_schema: readJson(draft.input_schema) as null,
    connection_instructions: draft.connection_instructions || null,
    ...(isCalled(draft) && !hasEndpoint && { private_endpoint_url: url }),
  };
};

const hasPeriods = ({ pricing_model: model }: ListingDraft): boolean => model === 'monthly' || model === 'yearly';

/** Whether calls go through the marketplace. */
const isCalled = (draft: ListingDraft): boolean =>
  draft.pricing_model === 'per_call' || (hasPeriods(draft) && draft.included_calls !== '');

const listIn = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** Null if the text is empty, and the text itself if it is not JSON. */
export function readJson(text: string): unknown {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export function ListingFields({
  draft,
  onChange,
  hasEndpoint,
}: {
  draft: ListingDraft;
  onChange: (draft: ListingDraft) => void;
  /** An endpoint that exists is changed by itself. */
  hasEndpoint: boolean;
}) {
  const categories = useCategories();
  const field = <Name extends keyof ListingDraft>(name: Name) => ({
    name,
    value: draft[name],
    onChange: (value: string) => onChange({ ...draft, [name]: value }),
  });
  const example = readJson(draft.example_input);
  return (
    <>
      <section className="card stack tight">
        <h2>Details</h2>
        <TextField {...field('name')} label="Name" />
        <TextField
          {...field('description')}
          label="Description"
          rows={4}
          isProse
          help="What it takes, what it gives and what it is good for, in the words of buyers."
        />
        <div className="two">
          <ChoiceField
            {...field('category_id')}
            label="Category"
            isOptional
            options={{ '': 'None', ...Object.fromEntries((categories.data ?? []).map(({ id, name }) => [id, name])) }}
          />
          <TextField {...field('tags')} label="Tags" isOptional help="Separated by commas." />
        </div>
      </section>
      <section className="card stack tight">
        <h2>Price</h2>
        <div className="two">
          <ChoiceField {...field('pricing_model')} label="Price model" options={MODELS} />
          {draft.pricing_model !== 'free' && (
            <TextField {...field('pricing_amount')} label="Price in US dollars" type="number" placeholder="0.00" />
          )}
          {hasPeriods(draft) && (
            <TextField
              {...field('included_calls')}
              label="Calls in a period"
              type="number"
              isOptional
              help="Through the marketplace. Without a number, subscribers connect as you tell them."
            />
          )}
          {draft.pricing_model !== 'free' && isCalled(draft) && (
            <TextField
              {...field('free_calls')}
              label="Free calls"
              type="number"
              isOptional
              help="For each buyer that has bought something here, to try it."
            />
          )}
        </div>
      </section>
      {isCalled(draft) ? (
        <section className="card stack tight">
          <h2>Calls</h2>
          {!hasEndpoint && (
            <TextField
              {...field('private_endpoint_url')}
              label="Endpoint URL"
              type="url"
              placeholder="https://api.example.com/call"
              help="Where calls are forwarded to. Buyers never see it. Its credentials and limits follow in the next step."
            />
          )}
          <TextField
            {...field('example_input')}
            label="Example body"
            isOptional
            rows={5}
            help="A JSON object that a buyer could send. Tests send it, too."
          />
          <div>
            <button
              type="button"
              className="small"
              disabled={typeof example !== 'object' || example === null}
              onClick={() => onChange({ ...draft, input_schema: JSON.stringify(schemaOf(example), null, 2) })}
            >
              Build the schema from the example
            </button>
          </div>
          <TextField
            {...field('input_schema')}
            label="Input schema"
            isOptional
            rows={8}
            help="JSON Schema 2020-12. A body that does not fit is refused before it costs anything."
          />
          <div className="two">
            <TextField
              {...field('formats')}
              label="Formats"
              help="Of the answers, separated by commas: json, a file such as png or pdf, a stream such as sse."
            />
            <TextField
              {...field('request_formats')}
              label="Formats of requests"
              help="Of the bodies that it takes. The schema is for json."
            />
          </div>
        </section>
      ) : (
        <section className="card stack tight">
          <h2>Access</h2>
          <TextField {...field('formats')} label="Formats" help="Separated by commas." />
          <TextField
            {...field('connection_instructions')}
            label="How subscribers connect"
            isOptional
            isProse
            rows={5}
            help="Only subscribers see it."
          />
        </section>
      )}
    </>
  );
}

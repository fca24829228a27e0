import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Backends. */
export const backendErrors = {
  backend_child_missing: {
    number: 6501,
    status: 400,
    text: '"{field}": there is no backend with id "{id}".',
  },
  backend_in_use: {
    number: 6502,
    status: 400,
    conflict: true,
    text: 'This backend is still in use by {by}. Change or delete that first.',
  },
  backend_description: { number: 6503, status: 400, text: '"{field}" may have at most 255 bytes.' },
  backend_metadata: { number: 6504, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  static_address: {
    number: 6505,
    status: 400,
    text: '"address" must have the form host:port, such as 10.0.0.5:8080 or app.internal:443.',
  },
  label_count: { number: 6508, status: 400, text: '"labels" must contain between 1 and 100 labels.' },
  label_length: {
    number: 6509,
    status: 400,
    text: '"labels": the label "{label}" is empty or has more than 255 bytes.',
  },
  weighted_children: { number: 6511, status: 400, text: '"backends" may name at most 100 backends.' },
  weight_range: { number: 6512, status: 400, text: '"{field}" must be a whole number between 0 and 10000.' },
  failover_children: { number: 6513, status: 400, text: '"backends" may name at most 100 backends.' },
  failover_twice: { number: 90010, status: 400, text: '"backends" names {id} more than once.' },
  response_body_too_big: { number: 6516, status: 400, text: '"body" may have at most 64 KiB.' },
  response_status: { number: 6517, status: 400, text: '"status_code" must be between 200 and 599.' },
  response_host: { number: 90181, status: 400, text: 'A response has no "host" header; only requests do.' },
  backend_cycle: { number: 90012, status: 400, text: '"{field}": {id} refers back to this backend: {path}.' },
  backend_tree: {
    number: 90231,
    status: 400,
    text: '"{field}": this backend would refer to more than {limit} others, counting each path to a backend. Use fewer levels or fewer backends.',
  },
  bad_backend_id: {
    number: 242,
    status: 400,
    text: '"{field}": "{id}" is not the id of a backend (bkdfo_, bkdhr_, bkdsc_, bkdtg_ or bkdwd_).',
  },
  label_equals: { number: 6531, status: 400, text: '"labels": the label "{label}" may not contain "=".' },
} as const satisfies Record<string, CatalogEntry>

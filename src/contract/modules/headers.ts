import { module } from '#contract/kind.ts'
import { line, listOf, mapOf } from '#contract/schema.ts'
import { input, sensitive } from '#contract/shape.ts'

const fields = {
  add: sensitive(
    input(
      mapOf(line({ maxBytes: 4096 }), {
        maxProperties: 100,
        refusals: { maxProperties: 'too_many_headers' },
      }),
      'Headers to add, by name.',
    ),
    'value',
  ),
  remove: input(
    listOf(line(), { maxItems: 100, refusals: { maxItems: 'too_many_headers' } }),
    'Names of headers to remove.',
  ),
}

export const requestHeaders = module({
  name: 'request_headers',
  doc: 'Changes the headers of the request before it goes to the upstream service.',
  fields,
})

export const responseHeaders = module({
  name: 'response_headers',
  doc: 'Changes the headers of the answer before it goes to the visitor.',
  fields,
})

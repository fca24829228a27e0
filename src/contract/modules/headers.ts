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
  doc: 'Changes request headers before the request is forwarded.',
  fields,
})

export const responseHeaders = module({
  name: 'response_headers',
  doc: 'Changes response headers before the response is sent to the client.',
  fields,
})

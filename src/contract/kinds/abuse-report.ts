import { kind, metadata } from '#contract/kind.ts'
import { line, listOf, object, oneOf } from '#contract/schema.ts'
import { computed, immutable, input, required } from '#contract/shape.ts'

export const abuseReport = kind({
  name: 'abuse_report',
  doc: 'A report about a malicious URL of this installation.',
  prefix: 'abrp',
  path: '/abuse_reports',
  listKey: 'abuse_reports',
  verbs: ['create', 'get'],
  fields: {
    urls: required(
      immutable(
        input(
          listOf(line({ maxBytes: 2048, refusal: 'report_url' }), {
            minItems: 1,
            maxItems: 100,
            missing: 'report_urls',
            refusal: 'report_urls',
          }),
          'The addresses.',
        ),
      ),
    ),
    metadata: metadata(),
    status: computed(oneOf('PENDING', 'PROCESSED', 'PARTIALLY_PROCESSED')),
    hostnames: computed(
      listOf(object({ hostname: line(), status: oneOf('PENDING', 'BANNED', 'UNBANNED', 'IGNORE') })),
    ),
  },
})

import {
  also,
  boolean,
  line,
  listOf,
  moment,
  nullable,
  object,
  oneOf,
  type Static,
} from '#contract/schema.ts'

const dnsRecord = object({ name: line(), type: oneOf('A', 'AAAA', 'CNAME', 'NS'), value: line() })

const step = object({
  name: oneOf('dns', 'order', 'certificate'),
  state: also(oneOf('done', 'waiting', 'failed', 'not_needed'), {
    description: 'waiting: it follows by itself; failed: see next.',
  }),
  message: line(),
})

const resolverAnswer = object({
  address: also(line(), { description: 'The address of the resolver.' }),
  records: listOf(dnsRecord),
  error: also(nullable(line()), {
    description: 'Why there is no answer, such as ESERVFAIL or ETIMEOUT; else null.',
  }),
})

/** The state of a domain from DNS to its certificate. */
export const checkedDomain = object({
  domain: line(),
  checked_at: moment(),
  points_here: also(nullable(boolean()), { description: 'Null if name servers do not respond.' }),
  required: also(listOf(dnsRecord), { description: 'The records that point the domain here.' }),
  found: also(listOf(dnsRecord), { description: 'The records that DNS has now for the same names.' }),
  answers: also(listOf(resolverAnswer), {
    description:
      'What each resolver of the server answers for these names. They differ while a change spreads; found is of the first that answers.',
  }),
  expires_at: also(nullable(moment()), { description: 'When the certificate expires.' }),
  steps: listOf(step),
  next: also(line(), { description: 'What to do next.' }),
})

export type CheckedDomain = Static<typeof checkedDomain>

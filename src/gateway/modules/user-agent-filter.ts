import { setImmediate } from 'node:timers/promises'
import { fail } from '#base/errors.ts'
import { goRegex, type GoRegex } from '#base/go-regex.ts'
import type { Slice } from '#base/regex/search.ts'
import { userAgentBudget, type userAgentFilter } from '#contract/modules/user-agent-filter.ts'
import type { Stored } from '#contract/shape.ts'
import type { Handler } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { withPreview } from '#gateway/modules/preview.ts'
import { readModule } from '#base/read-module.ts'
import { errorReply } from '#http/pages.ts'
import { list, object, text } from '#base/json-fields.ts'

const NAME = 'user_agent_filter'
const OPTION = 'UserAgentFilter'
/** Longer ones are rejected: no program sends them, and every pattern is matched against the whole. */
const MAX_AGENT = 1024
/** Pattern steps after which other work gets a turn: about a millisecond. */
const SLICE = 100_000
/** Most clients of an endpoint send one of the same few values. */
const REMEMBERED = 250

const patterns = list(text(1024), 100)
const options = object({ allow: patterns, deny: patterns })

interface Rules {
  readonly allow: readonly GoRegex[]
  readonly deny: readonly GoRegex[]
}

/** Header bytes decoded as UTF-8 if possible. */
const decoded = (value: string): string =>
  /[\x80-\xff]/.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value

async function someMatches(rules: readonly GoRegex[], name: string, slice: Slice): Promise<boolean> {
  for (const pattern of rules) {
    const search = pattern.search(name)
    let found = search.run(slice)
    while (found === undefined) {
      await setImmediate()
      slice.left = SLICE
      found = search.run(slice)
    }
    if (found) return true
  }
  return false
}

async function passes({ allow, deny }: Rules, agent: string): Promise<boolean> {
  const name = decoded(agent)
  const slice = { left: SLICE }
  if (await someMatches(allow, name, slice)) return true
  // Without a User-Agent no deny rule can match, so only an allow rule lets it pass.
  return name !== '' && !(await someMatches(deny, name, slice))
}

/** Filters by the User-Agent header. */
function filter(rules: Rules): Handler {
  const verdicts = new Map<string, boolean>()
  const judge = async (agent: string): Promise<boolean> => {
    const verdict = await passes(rules, agent)
    if (verdicts.size >= REMEMBERED) verdicts.clear()
    verdicts.set(agent, verdict)
    return verdict
  }

  const allows = async ({ fields }: Pick<RequestHead, 'fields'>): Promise<boolean> => {
    const agent = fields.get('user-agent') ?? ''
    return agent.length <= MAX_AGENT && (verdicts.get(agent) ?? (await judge(agent)))
  }

  return withPreview(
    async (exchange, next) =>
      (await allows(exchange.head)) ? next(exchange) : errorReply('user_agent_refused', exchange.head),
    async request => ((await allows(request)) ? undefined : 'user_agent_refused'),
  )
}

function compiled(
  given: { readonly allow: readonly string[]; readonly deny: readonly string[] },
  refuse: (reason: string) => never,
): Handler {
  const budget = userAgentBudget()
  const compile = (pattern: string): GoRegex => {
    const made = goRegex(pattern, budget)
    if (!('reason' in made)) return made
    return refuse(made.isTooLarge ? made.reason : `"${pattern}" is not a regular expression: ${made.reason}`)
  }
  return filter({ allow: given.allow.map(compile), deny: given.deny.map(compile) })
}

export const userAgentFilterModule: HttpModule = {
  name: NAME,
  fromRecord: given =>
    compiled(given as Stored<typeof userAgentFilter.shape>, reason =>
      fail('module_unusable', { module: NAME, reason }),
    ),
  fromAgent: {
    options: [OPTION],
    build: ({ UserAgentFilter }) =>
      compiled(readModule(OPTION, options, UserAgentFilter ?? {}), reason =>
        fail('bind_option', { option: OPTION, reason }),
      ),
  },
}

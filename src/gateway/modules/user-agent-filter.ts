import { fail } from '#base/errors.ts'
import { goRegex, type GoRegex } from '#base/go-regex.ts'
import type { userAgentFilter } from '#contract/modules/user-agent-filter.ts'
import type { Kept } from '#contract/shape.ts'
import type { Handler } from '#gateway/exchange.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { readModule } from '#gateway/modules/read-module.ts'
import { errorReply } from '#gateway/pages.ts'
import { list, object, text } from '#tunnel/fields.ts'

const NAME = 'user_agent_filter'
const OPTION = 'UserAgentFilter'
/** Longer ones are refused: no program sends them, and every pattern is tried on the whole. */
const MAX_AGENT = 2048
/** Most visitors of a place come with the same few programs. */
const REMEMBERED = 1000

const patterns = list(text(1024), 100)
const options = object({ allow: patterns, deny: patterns })

interface Rules {
  readonly allow: readonly GoRegex[]
  readonly deny: readonly GoRegex[]
}

/** Bytes of a header as the text they most likely are. */
const decoded = (value: string): string =>
  /[\x80-\xff]/.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value

function passes({ allow, deny }: Rules, agent: string): boolean {
  const name = decoded(agent)
  if (allow.some(pattern => pattern.test(name))) return true
  // Without a name there is nothing that could be denied, so only an allowing rule lets it through.
  return name !== '' && !deny.some(pattern => pattern.test(name))
}

/** Decides by the program that says it made the request. */
function filter(rules: Rules): Handler {
  const verdicts = new Map<string, boolean>()
  const judge = (agent: string): boolean => {
    const verdict = passes(rules, agent)
    if (verdicts.size >= REMEMBERED) verdicts.clear()
    verdicts.set(agent, verdict)
    return verdict
  }

  return async (exchange, next) => {
    const agent = exchange.head.fields.get('user-agent') ?? ''
    const allowed = agent.length <= MAX_AGENT && (verdicts.get(agent) ?? judge(agent))
    return allowed ? next(exchange) : errorReply('user_agent_refused', exchange.head)
  }
}

function compiled(
  given: { readonly allow: readonly string[]; readonly deny: readonly string[] },
  refuse: (reason: string) => never,
): Handler {
  const compile = (pattern: string): GoRegex => {
    const made = goRegex(pattern)
    return 'reason' in made ? refuse(`"${pattern}" is not a regular expression: ${made.reason}`) : made
  }
  return filter({ allow: given.allow.map(compile), deny: given.deny.map(compile) })
}

export const userAgentFilterModule: HttpModule = {
  name: NAME,
  fromRecord: given =>
    compiled(given as Kept<typeof userAgentFilter.shape>, reason =>
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

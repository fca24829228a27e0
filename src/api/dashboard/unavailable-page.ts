import { withErrorPage } from '#api/answer.ts'
import type { HttpCall, RouteHandler } from '#api/http-server.ts'
import { lines, replyWith, textBody } from '#api/reply.ts'
import type { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Reply } from '#http/exchange.ts'
import { markup } from '#reference/html.ts'

/** It loads and runs nothing: the files of the dashboard may be refused for the same reason. */
const POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const RETRY_SECONDS = 3

const HEAD = lines({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  vary: 'accept',
})

/** Shows why the dashboard is not served, where a browser would show JSON. */
export const orUnavailable = (log: Log, route: RouteHandler): RouteHandler =>
  withErrorPage({ log, page: unavailablePage }, route)

/** A page that is loaded again until a temporary problem is over. */
function unavailablePage(httpCall: HttpCall, problem: Problem): Reply {
  const { operationId } = httpCall
  const { status, message, number } = problem
  const isTemporary = status >= 500 || status === 429
  const title = isTemporary ? 'Not available' : 'Not allowed'
  const again = markup`<meta http-equiv="refresh" content="${String(RETRY_SECONDS)}">
`
  const { text } = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${isTemporary ? again : ''}<title>${title} · Adit</title>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${message}</p>
<p>${number === undefined ? '' : `ERR_ADIT_${number} `}${operationId}</p>
${isTemporary ? markup`<p>This page tries again every ${RETRY_SECONDS} seconds.</p>` : ''}
</main>
</body>
</html>
`
  return replyWith(httpCall, status, HEAD, textBody(text))
}

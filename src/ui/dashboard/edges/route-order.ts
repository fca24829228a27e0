interface RouteMatch {
  readonly match_type: 'exact_path' | 'path_prefix'
  readonly match: string
}

/** `shop.example.com/cart` has a host, `/cart` has none. */
const parts = ({ match }: RouteMatch): { host: string; path: string } => {
  const slash = match.indexOf('/')
  return slash < 0 ? { host: match, path: '' } : { host: match.slice(0, slash), path: match.slice(slash) }
}

/** Routes in the order in which the gateway compares them: exact before prefix, long before short, a host before none. */
export const inMatchOrder = <Route extends RouteMatch>(routes: readonly Route[]): Route[] =>
  routes.toSorted((left, right) => {
    const [one, other] = [parts(left), parts(right)]
    const isExact = (route: Route): number => (route.match_type === 'exact_path' ? 1 : 0)
    return (
      isExact(right) - isExact(left) ||
      other.path.length - one.path.length ||
      other.host.length - one.host.length
    )
  })

/** The order in which modules run; sign-in modules are alternatives. The backend is last. */
const order = [
  'tls_termination',
  'mutual_tls',
  'ip_restriction',
  'ip_policy',
  'user_agent_filter',
  'webhook_verification',
  'webhook_validation',
  'basic_auth',
  'oauth',
  'oidc',
  'saml',
  'response_headers',
  'compression',
]
const late = ['circuit_breaker', 'request_headers', 'websocket_tcp_converter', 'backend']

const rank = (name: string): number => {
  const at = order.indexOf(name)
  if (at >= 0) return at
  const end = late.indexOf(name)
  return end < 0 ? order.length : order.length + 1 + end
}

export const inRunOrder = (names: readonly string[]): string[] =>
  names.toSorted((left, right) => rank(left) - rank(right))

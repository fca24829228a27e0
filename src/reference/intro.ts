/** A section of general notes. Backticks in the text mark code. */
export interface Chapter {
  readonly id: string
  readonly title: string
  readonly text: readonly string[]
  readonly code?: string
}

/** The URL of a server with default settings. */
export const EXAMPLE_URL = 'http://127.0.0.1:4600'

/** General notes before the collections. */
export const introduction: readonly Chapter[] = [
  {
    id: 'effect',
    title: 'Effect on traffic',
    text: [
      'All resources take effect on traffic: tunnels, edges, routes, modules, backends, domains with automatic certificates, and event delivery. The modules `policy` and `traffic_policy` are validated and stored, but a route that has one responds with 503 and the reason.',
    ],
  },
  {
    id: 'calling',
    title: 'Calling',
    text: [
      'Every request carries the token of an API key. The server prints the first key at its first start, and stores it in the file `api-key` of the data folder. The examples use two variables:',
    ],
    code: `API=${EXAMPLE_URL}\nKEY=$(cat data/api-key)\ncurl -H "Authorization: Bearer $KEY" "$API/self"`,
  },
  {
    id: 'bodies',
    title: 'Requests and responses',
    text: [
      'Bodies are JSON objects, sent with `Content-Type: application/json` and at most 1 MiB long. Unknown fields are rejected. A field that is null counts as absent. The ids in the examples are made up; use your own.',
      'Create returns 201, read and update 200, each with the resource. Delete and commands return 204 without a body. A `Ref` is an object with the `id` and the `uri` of another resource. Times are in UTC, as `2030-01-31T12:00:00Z`.',
      'The version header is optional: `Service-Version: 2`. `Adit-Version` and `Ngrok-Version` mean the same. There is only version 2.',
    ],
  },
  {
    id: 'changing',
    title: 'Changing',
    text: [
      'PATCH changes only the given fields. A module, or any other nested object, is replaced as a whole. A module is removed with DELETE on its own path. If another request changes the same resource at the same time, the server retries; only if that keeps failing does it return 409.',
    ],
  },
  {
    id: 'lists',
    title: 'Lists',
    text: [
      'Lists are sorted by age, newest first. `limit` is the page size, 1 to 100 (default 100). `before_id` returns only resources older than that id. `next_page_uri` is the URL of the next page, and null on the last page. `filter` returns only resources for which a CEL (Common Expression Language) expression is true: `obj` is the resource as returned, and the supported operators and functions are `! && || == != < <= > >= in`, `size()`, `startsWith`, `endsWith`, `contains`, `null`, `timestamp("2026-01-31T12:00:00Z")` and `timestamp(time.now).subtract("7d")`. One request examines at most 10,000 resources; a page can then be short or empty although another follows.',
    ],
  },
  {
    id: 'refusals',
    title: 'Refusals',
    text: [
      'An error says what is wrong and what to change. `error_code` is a code of the error reference, `details.field` the invalid field if there is one, and `details.operation_id` identifies the request in the server log.',
      'A missing or wrong key is 401, a missing permission 403, an unknown path or resource 404, too many requests 429 with `Retry-After`. Invalid values, names already in use and resources still in use are 400. The setting `rate_limit` is the number of requests per key in 60 seconds, 120 by default.',
    ],
    code: '{\n  "error_code": "ERR_ADIT_1406",\n  "status_code": 400,\n  "msg": "\\"cidr\\": \\"ten\\" is not an address range. Write it as 10.0.0.0/8 or 2001:db8::/32.",\n  "details": { "operation_id": "op_2abcDEFghiJKLmnoPQRstuVWXyz", "field": "cidr" }\n}',
  },
  {
    id: 'secrets',
    title: 'Secrets',
    text: [
      'Tokens of keys and credentials are shown once, in the response that creates them; the server stores only their hashes. Other secrets are encrypted at rest. Each field says whether they are returned.',
    ],
  },
]

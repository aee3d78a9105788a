/** Attributes of HTML that hold links, by element (upstream's list). */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
};

/** Where links of a backend lead to, seen by a client. */
export interface LinkBase {
  /** Scheme and authority of the backend. */
  origin: string;
  /** Path at which the client finds the backend's root. */
  prefix: string;
}

/** A link of a backend for its client: what leads to the backend's own root leads below the prefix; else unchanged. */
export function rewriteLink(link: string, { origin, prefix }: LinkBase): string {
  const own = link.startsWith(`${origin}/`) ? link.slice(origin.length) : link;
  if (!own.startsWith('/') || own.startsWith('//') || own.startsWith(prefix)) return own;
  return `${prefix}${own}`;
}

/** The answer of a backend with its redirects, and the links of an HTML page, leading to where its client finds them. */
export function rewriteLinks(answer: Response, headers: Headers, base: LinkBase): Response {
  const target = headers.get('location');
  if (target !== null) headers.set('location', rewriteLink(target, base));
  const passed = new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers });
  const type = (headers.get('content-type') ?? '').split(';')[0]!.trim();
  if (type !== 'text/html' || target !== null || answer.body === null) return passed;
  const rewriter = new HTMLRewriter();
  for (const [element, attributes] of Object.entries(LINKS)) {
    rewriter.on(element, {
      element: (found) => {
        for (const name of attributes) {
          const link = found.getAttribute(name);
          if (link !== null) found.setAttribute(name, rewriteLink(link, base));
        }
      },
    });
  }
  return rewriter.transform(passed);
}

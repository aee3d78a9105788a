import { int, text } from '../api/fields.ts';
import { isObject, type JsonObject } from '../api/object.ts';

/** Where a webhook is, before a Service is looked up. */
export interface ClientConfig {
  /** Empty: the Service's. */
  url: string;
  service?: { namespace: string; name: string; path: string; port: number };
  /** PEM; empty: the public authorities. */
  caBundle: string;
}

/** Reads a `clientConfig` of a webhook, or of the conversion of a custom resource. */
export function readClientConfig(config: JsonObject): ClientConfig {
  const { service } = config;
  return {
    url: text(config.url),
    caBundle: fromBase64(text(config.caBundle)),
    ...(isObject(service) && {
      service: {
        namespace: text(service.namespace),
        name: text(service.name),
        path: text(service.path),
        port: int(service.port) || 443,
      },
    }),
  };
}

function fromBase64(value: string): string {
  try {
    return atob(value);
  } catch {
    return '';
  }
}

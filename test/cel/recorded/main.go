// Records what the CEL environment of kube-apiserver says of expressions: one a line on standard input, JSON lines on
// standard output. Again: jq -r .expr answers.jsonl | go run . > new.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type result struct {
	Expr    string  `json:"expr"`
	Compile string  `json:"compile,omitempty"`
	Error   string  `json:"error,omitempty"`
	Type    string  `json:"type,omitempty"`
	Value   any     `json:"value,omitempty"`
	Cost    *uint64 `json:"cost,omitempty"`
	Min     *uint64 `json:"min,omitempty"`
	Max     *uint64 `json:"max,omitempty"`
}

// readers allows reading: the authorizer of the expressions.
type readers struct{}

func (readers) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "get" {
		return authorizer.DecisionAllow, "may read", nil
	}
	if a.GetVerb() == "fail" {
		return authorizer.DecisionNoOpinion, "", fmt.Errorf("no authorizer")
	}
	return authorizer.DecisionNoOpinion, "may not", nil
}

func shown(v ref.Val) any {
	switch t := v.(type) {
	case types.Bool:
		return bool(t)
	case types.Int:
		return map[string]any{"int": fmt.Sprint(int64(t))}
	case types.Uint:
		return map[string]any{"uint": fmt.Sprint(uint64(t))}
	case types.Double:
		f := float64(t)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return map[string]any{"double": fmt.Sprint(f)}
		}
		return map[string]any{"double": f}
	case types.String:
		return string(t)
	case types.Bytes:
		return map[string]any{"bytes": []byte(t)}
	case types.Null:
		return map[string]any{"null": true}
	case types.Timestamp:
		return map[string]any{"timestamp": t.Time.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return map[string]any{"duration": fmt.Sprint(int64(t.Duration))}
	case *types.Optional:
		if !t.HasValue() {
			return map[string]any{"optional": nil}
		}
		return map[string]any{"optional": shown(t.GetValue())}
	case traits.Lister:
		out := []any{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			out = append(out, shown(it.Next()))
		}
		return out
	case traits.Mapper:
		entries := []any{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			entries = append(entries, []any{shown(k), shown(t.Get(k))})
		}
		return map[string]any{"map": entries}
	}
	return map[string]any{"opaque": v.Type().TypeName()}
}

func main() {
	set := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	set, err := set.Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions:        []cel.EnvOption{cel.Variable("authorizer", library.AuthorizerType)},
	}, environment.StrictCostOpt)
	if err != nil {
		panic(err)
	}
	env, err := set.Env(environment.StoredExpressions)
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		out.Encode(record(env, in.Text()))
	}
}

func record(env *cel.Env, expr string) result {
	r := result{Expr: expr}
	ast, issues := env.Compile(expr)
	if issues != nil {
		r.Compile = issues.String()
		return r
	}
	r.Type = ast.OutputType().String()
	if estimate, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: sizes{}}); err == nil {
		r.Min, r.Max = &estimate.Min, &estimate.Max
	}
	prog, err := env.Program(ast, cel.CostTracking(&library.CostEstimator{}))
	if err != nil {
		r.Error = err.Error()
		return r
	}
	who := &user.DefaultInfo{Name: "someone"}
	val, details, err := prog.Eval(map[string]any{"authorizer": library.NewAuthorizerVal(who, readers{})})
	if details != nil {
		r.Cost = details.ActualCost()
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Value = shown(val)
	return r
}

// No sizes are known before there is data.
type sizes struct{}

func (sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate { return nil }
func (sizes) EstimateCallCost(function, overloadID string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return nil
}

module holdfast.example/go

go 1.19

module weir.test/path-readers

go 1.22
